// SPDX-License-Identifier: Apache-2.0
// Reads PNG files by libpng.
#include "formats.h"

#if defined(SHOAL_DATA_PNG)
#include <png.h>

#include <algorithm>
#include <vector>

#include "c_library.h"
#include "orientation.h"
#include "pixels.h"
#endif

namespace shoal::data {

#if defined(SHOAL_DATA_PNG)
namespace {

class PngDecoder {
 public:
  PngDecoder(std::string_view bytes, const ImageOptions& options) : bytes_(bytes), options_(options) {}
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;
  ~PngDecoder() { png_destroy_read_struct(&library_, &info_, nullptr); }

  Result<Tensor> decode() {
    library_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &on_error, [](png_structp, png_const_charp) {});
    info_ = library_ ? png_create_info_struct(library_) : nullptr;
    if (!info_) return unavailable("libpng has no memory for the image");
    if (!finishes(exit_, [this] { read_header(); })) return failed();
    SHOAL_TRY_VOID(check_size());
    if (!finishes(exit_, [this] { choose_output(); })) return failed();

    const auto height = png_get_image_height(library_, info_), width = png_get_image_width(library_, info_);
    const size_t channels = png_get_channels(library_, info_), row_bytes = png_get_rowbytes(library_, info_);
    SHOAL_CHECK(row_bytes == width * channels);
    Tensor image(DType::kUInt8, Shape{height, width, int64_t(channels)});
    std::vector<png_bytep> rows(height);
    for (size_t i = 0; i < height; ++i) rows[i] = image.mutable_as<uint8_t>().data() + i * row_bytes;
    if (!finishes(exit_, [&] { read_rows(rows.data()); })) return failed();
    if (options_.channels == 1 && channels == 3) image = grey(image);
    return upright(image, orientation_);
  }

 private:
  static PngDecoder& of(png_structp library) { return *static_cast<PngDecoder*>(png_get_error_ptr(library)); }
  [[noreturn]] static void on_error(png_structp library, png_const_charp sentence) { of(library).exit_.leave(sentence); }
  static void on_read(png_structp library, png_bytep to, size_t count) {
    PngDecoder& self = of(library);
    if (count > self.bytes_.size() - self.read_) {
      self.read_ = self.bytes_.size();
      png_error(library, "the file ends");
    }
    std::memcpy(to, self.bytes_.data() + self.read_, count);
    self.read_ += count;
  }

  // If libpng finds an error, it leaves these functions by longjmp (exit_), so they make no objects with destructors.

  void read_header() {
    constexpr png_alloc_size_t kChunkBytesMax = 8 << 20;
    constexpr png_uint_32 kChunksMax = 100;
    png_set_read_fn(library_, this, &on_read);
    png_set_crc_action(library_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_user_limits(library_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // check_size() replaces the limits of libpng.
    png_set_chunk_cache_max(library_, kChunksMax);
    png_set_chunk_malloc_max(library_, kChunkBytesMax);
    // Chunks of texts, profiles and the like are passed over, except for their checksums: a bad profile is no reason to
    // refuse an image.
    png_set_keep_unknown_chunks(library_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    if (options_.apply_orientation) {
      png_set_keep_unknown_chunks(library_, PNG_HANDLE_CHUNK_AS_DEFAULT, reinterpret_cast<png_const_bytep>("eXIf"), 1);
    }
    png_read_info(library_, info_);
  }

  void choose_output() {
    const bool is_colour = (png_get_color_type(library_, info_) & PNG_COLOR_MASK_COLOR) != 0;
    const bool is_palette = png_get_color_type(library_, info_) == PNG_COLOR_TYPE_PALETTE;
    const bool is_transparent = png_get_valid(library_, info_, PNG_INFO_tRNS) != 0;
    const bool has_alpha = is_transparent || (png_get_color_type(library_, info_) & PNG_COLOR_MASK_ALPHA) != 0;
    png_set_scale_16(library_);
    if (is_palette) png_set_palette_to_rgb(library_);
    if (!is_colour && png_get_bit_depth(library_, info_) < 8) png_set_expand_gray_1_2_4_to_8(library_);
    const bool wants_alpha = options_.channels == 0 || options_.channels == 4;
    if (wants_alpha && is_transparent) png_set_tRNS_to_alpha(library_);
    if (!wants_alpha) png_set_strip_alpha(library_);
    if (options_.channels >= 3) png_set_gray_to_rgb(library_);
    if (options_.channels == 4 && !has_alpha) png_set_add_alpha(library_, 255, PNG_FILLER_AFTER);
    png_set_interlace_handling(library_);
    png_read_update_info(library_, info_);
  }

  void read_rows(png_bytepp rows) {
    png_read_image(library_, rows);
    png_read_end(library_, info_);
    png_bytep exif = nullptr;
    png_uint_32 exif_bytes = 0;
    if (options_.apply_orientation && png_get_eXIf_1(library_, info_, &exif_bytes, &exif) != 0) {
      orientation_ = orientation_of({reinterpret_cast<const char*>(exif), exif_bytes});
    }
  }

  /// Checks that the number of pixels is within the limit, and that the file is large enough for them: deflate unpacks one
  /// byte to at most 1032 bytes.
  Result<void> check_size() const {
    constexpr uint64_t kPngRatioMax = 1032;
    const uint64_t height = png_get_image_height(library_, info_), width = png_get_image_width(library_, info_);
    SHOAL_TRY_VOID(check_pixels({.height = int64_t(height), .width = int64_t(width)}, options_.pixels_max));
    const uint64_t bytes = uint64_t(png_get_rowbytes(library_, info_)) * height;
    if (bytes / kPngRatioMax <= bytes_.size()) return {};
    return data_loss("the PNG file is truncated: " + std::to_string(height) + " rows of " + std::to_string(width) +
                     " pixels take more than its " + std::to_string(bytes_.size()) + " bytes");
  }

  static Tensor grey(const Tensor& image) {
    Tensor result(DType::kUInt8, Shape{image.shape()[0], image.shape()[1], 1});
    const uint8_t* rgb = image.as<uint8_t>().data();
    for (uint8_t& pixel : result.mutable_as<uint8_t>()) {
      pixel = luma_of(rgb);
      rgb += 3;
    }
    return result;
  }

  Error failed() const {
    return data_loss("the PNG file is damaged near byte " + std::to_string(read_) + ": libpng says \"" +
                     exit_.sentence.data() + "\"");
  }

  const std::string_view bytes_;
  const ImageOptions& options_;
  size_t read_ = 0;
  int orientation_ = 1;
  ErrorExit exit_;
  png_structp library_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

Result<Tensor> decode_png(std::string_view bytes, const ImageOptions& options) {
  return PngDecoder(bytes, options).decode();
}

#else

Result<Tensor> decode_png(std::string_view, const ImageOptions&) {
  return without_image_library("PNG", "libpng", "libpng-dev");
}

#endif

}  // namespace shoal::data
