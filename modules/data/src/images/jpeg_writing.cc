// SPDX-License-Identifier: Apache-2.0
// Writes JPEG files by libjpeg (libjpeg-turbo in Debian).
#include "formats.h"
#include "image_tensor.h"

#if defined(SHOAL_DATA_JPEG)
#include <cstdio>  // jpeglib.h needs it before.

#include <jerror.h>
#include <jpeglib.h>

#include "c_library.h"
#endif

namespace shoal::data {

#if defined(SHOAL_DATA_JPEG)
namespace {

class JpegEncoder {
 public:
  JpegEncoder() {
    library_.err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr library) {
      JpegEncoder& self = of(library);
      library->err->format_message(library, self.exit_.sentence.data());
      self.exit_.leave();
    };
    errors_.output_message = [](j_common_ptr) {};
    library_.client_data = this;
    target_.init_destination = &begin_block;
    target_.empty_output_buffer = [](j_compress_ptr library) -> boolean {
      of(library).append(library, sizeof block_);
      begin_block(library);
      return TRUE;
    };
    target_.term_destination = [](j_compress_ptr library) {
      JpegEncoder& self = of(library);
      self.append(library, sizeof block_ - self.target_.free_in_buffer);
    };
  }
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;
  ~JpegEncoder() { jpeg_destroy_compress(&library_); }

  Result<std::string> encode(const uint8_t* pixels, const ImageShape& shape, int quality) {
    if (!finishes(exit_, [&] { write(pixels, shape, quality); })) {
      return unavailable(std::string("libjpeg cannot write the image: ") + exit_.sentence.data());
    }
    return std::string(written_.bytes());
  }

 private:
  template <class Library>
  static JpegEncoder& of(Library* library) {
    return *static_cast<JpegEncoder*>(library->client_data);
  }
  static void begin_block(j_compress_ptr library) {
    JpegEncoder& self = of(library);
    self.target_.next_output_byte = self.block_;
    self.target_.free_in_buffer = sizeof self.block_;
  }
  // If libjpeg finds an error, it leaves these functions by longjmp (exit_), so they make no objects with destructors.
  void append(j_compress_ptr library, size_t count) {
    if (!written_.append(block_, count)) ERREXIT1(library, JERR_OUT_OF_MEMORY, 0);
  }
  void write(const uint8_t* pixels, const ImageShape& shape, int quality) {
    jpeg_create_compress(&library_);
    library_.dest = &target_;
    library_.image_height = JDIMENSION(shape.height);
    library_.image_width = JDIMENSION(shape.width);
    library_.input_components = int(shape.channels);
    library_.in_color_space = shape.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&library_);
    library_.dct_method = JDCT_ISLOW;
    jpeg_set_quality(&library_, quality, TRUE);
    jpeg_start_compress(&library_, TRUE);
    while (library_.next_scanline < library_.image_height) {
      JSAMPROW row = const_cast<uint8_t*>(pixels) + library_.next_scanline * size_t(shape.width * shape.channels);
      jpeg_write_scanlines(&library_, &row, 1);
    }
    jpeg_finish_compress(&library_);
  }

  ErrorExit exit_;
  jpeg_error_mgr errors_{};
  jpeg_destination_mgr target_{};
  jpeg_compress_struct library_{};
  WrittenBytes written_;
  uint8_t block_[16 << 10];
};

}  // namespace
#endif

Result<std::string> encode_jpeg(const Tensor& image, int quality) {
  const ImageShape shape = image_shape(image, "encode_jpeg");
  constexpr int64_t kSideMax = 65500;  // JPEG_MAX_DIMENSION of libjpeg.
  require_image(image.dtype() == DType::kUInt8 && (shape.channels == 1 || shape.channels == 3), "encode_jpeg", image,
                "give uint8 with 1 or 3 channels");
  require_image(shape.height <= kSideMax && shape.width <= kSideMax, "encode_jpeg", image,
                "a side has at most 65500 pixels");
  if (quality < 1 || quality > 100) {
    raise(invalid_argument("encode_jpeg: the quality is " + std::to_string(quality) + "; give 1 to 100"));
  }
#if defined(SHOAL_DATA_JPEG)
  return JpegEncoder().encode(image.as<uint8_t>().data(), shape, quality);
#else
  return without_image_library("JPEG", "libjpeg", "libjpeg62-turbo-dev");
#endif
}

}  // namespace shoal::data
