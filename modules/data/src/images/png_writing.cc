// SPDX-License-Identifier: Apache-2.0
// Writes PNG files by libpng.
#include "formats.h"
#include "image_tensor.h"

#if defined(SHOAL_DATA_PNG)
#include <png.h>

#include "c_library.h"
#endif

namespace shoal::data {

#if defined(SHOAL_DATA_PNG)
namespace {

class PngEncoder {
 public:
  PngEncoder() = default;
  PngEncoder(const PngEncoder&) = delete;
  PngEncoder& operator=(const PngEncoder&) = delete;
  ~PngEncoder() { png_destroy_write_struct(&library_, &info_); }

  Result<std::string> encode(const uint8_t* pixels, const ImageShape& shape) {
    library_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, &on_error, [](png_structp, png_const_charp) {});
    info_ = library_ ? png_create_info_struct(library_) : nullptr;
    if (!info_ || !finishes(exit_, [&] { write(pixels, shape); })) {
      return unavailable(std::string("libpng cannot write the image: ") + exit_.sentence.data());
    }
    return std::string(written_.bytes());
  }

 private:
  static PngEncoder& of(png_structp library) { return *static_cast<PngEncoder*>(png_get_error_ptr(library)); }
  [[noreturn]] static void on_error(png_structp library, png_const_charp sentence) { of(library).exit_.leave(sentence); }
  static void on_write(png_structp library, png_bytep bytes, size_t count) {
    if (!of(library).written_.append(bytes, count)) png_error(library, "no memory");
  }
  /// This function must make no objects with destructors, because an error of libpng ends it by longjmp (exit_).
  void write(const uint8_t* pixels, const ImageShape& shape) {
    constexpr int kColourTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                    PNG_COLOR_TYPE_RGB_ALPHA};
    png_set_write_fn(library_, this, &on_write, [](png_structp) {});
    png_set_user_limits(library_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_IHDR(library_, info_, png_uint_32(shape.width), png_uint_32(shape.height), 8, kColourTypes[shape.channels - 1],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(library_, info_);
    for (int64_t row = 0; row < shape.height; ++row) {
      png_write_row(library_, const_cast<png_bytep>(pixels + row * shape.width * shape.channels));
    }
    png_write_end(library_, info_);
  }

  ErrorExit exit_;
  WrittenBytes written_;
  png_structp library_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace
#endif

Result<std::string> encode_png(const Tensor& image) {
  const ImageShape shape = image_shape(image, "encode_png");
  constexpr int64_t kSideMax = 0x7fffffff;
  require_image(image.dtype() == DType::kUInt8 && shape.channels <= 4, "encode_png", image,
                "give uint8 with 1 to 4 channels");
  require_image(shape.height <= kSideMax && shape.width <= kSideMax, "encode_png", image,
                "a side has less than 2^31 pixels");
#if defined(SHOAL_DATA_PNG)
  return PngEncoder().encode(image.as<uint8_t>().data(), shape);
#else
  return without_image_library("PNG", "libpng", "libpng-dev");
#endif
}

}  // namespace shoal::data
