// SPDX-License-Identifier: Apache-2.0
// Reads JPEG files by libjpeg (libjpeg-turbo in Debian).
#include "formats.h"

#if defined(SHOAL_DATA_JPEG)
#include <cstdio>  // jpeglib.h needs it before.

#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <vector>

#include "c_library.h"
#include "orientation.h"
#include "pixels.h"
#endif

namespace shoal::data {

#if defined(SHOAL_DATA_JPEG)
namespace {

/// No program writes so many scans. Each scan takes time for the whole image, even if it has only a few bytes.
constexpr int kScansMax = 100;

/// The functions that libjpeg calls at errors and warnings. libjpeg hands this object to them as `client_data`.
struct JpegErrors {
  jpeg_error_mgr manager{};
  ErrorExit exit;
  bool accept_damage = false;

  static JpegErrors& of(j_common_ptr library) { return *static_cast<JpegErrors*>(library->client_data); }
  static void on_error(j_common_ptr library) {
    JpegErrors& errors = of(library);
    static_assert(JMSG_LENGTH_MAX <= 256);
    library->err->format_message(library, errors.exit.sentence.data());
    errors.exit.out_of_memory = library->err->msg_code == JERR_OUT_OF_MEMORY;
    errors.exit.leave();
  }
  /// Warnings have the level -1. Warnings about unknown versions or markers do not mean damaged pixels.
  static void on_message(j_common_ptr library, int level) {
    const int code = library->err->msg_code;
    if (level >= 0 || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM || of(library).accept_damage) return;
    on_error(library);
  }
  static void on_output(j_common_ptr) {}
  static void on_progress(j_common_ptr library) {
    if (reinterpret_cast<j_decompress_ptr>(library)->input_scan_number > kScansMax) {
      of(library).exit.leave("the file has more than 100 scans");
    }
  }
};

/// Replaces four inks by three colours in place. Adobe's programs store inverted inks: how much of each is missing.
void inks_to_colours(uint8_t* pixels, size_t count, bool inverted) {
  uint8_t* to = pixels;
  for (const uint8_t* from = pixels; from != pixels + 4 * count; from += 4) {
    const uint8_t key = inverted ? from[3] : uint8_t(255 - from[3]);
    for (int i = 0; i < 3; ++i) *to++ = product_of_bytes(inverted ? from[i] : uint8_t(255 - from[i]), key);
  }
}

void from_colours(const uint8_t* rgb, uint8_t* to, size_t count, int channels) {
  for (size_t i = 0; i < count; ++i, rgb += 3) {
    if (channels == 1) {
      *to++ = luma_of(rgb);
      continue;
    }
    to = std::copy_n(rgb, 3, to);
    if (channels == 4) *to++ = 255;
  }
}

class JpegDecoder {
 public:
  JpegDecoder(std::string_view bytes, const ImageOptions& options) : bytes_(bytes), options_(options) {
    errors_.accept_damage = options.accept_damage;
    library_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = &JpegErrors::on_error;
    errors_.manager.emit_message = &JpegErrors::on_message;
    errors_.manager.output_message = &JpegErrors::on_output;
    library_.client_data = &errors_;
    progress_.progress_monitor = &JpegErrors::on_progress;
  }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder() { jpeg_destroy_decompress(&library_); }

  Result<Tensor> decode() {
    if (!finishes(errors_.exit, [this] { read_header(); })) return failed();
    SHOAL_TRY_VOID(check_pixels({.height = library_.image_height, .width = library_.image_width}, options_.pixels_max));
    if (library_.num_components == 2 || library_.num_components > 4) {
      return data_loss("the JPEG file has " + std::to_string(library_.num_components) + " channels; 1, 3 and 4 are read");
    }
    const int orientation = options_.apply_orientation ? orientation_in_markers() : 1;
    if (!finishes(errors_.exit, [this, orientation] { choose_output(is_turned(orientation)); })) return failed();

    const int wanted = options_.channels != 0 ? options_.channels : (library_.num_components == 1 ? 1 : 3);
    Tensor image(DType::kUInt8, Shape{library_.output_height, library_.output_width, wanted});
    uint8_t* const pixels = image.mutable_as<uint8_t>().data();
    std::vector<uint8_t> row(size_t(library_.output_width) * 4);
    if (!finishes(errors_.exit, [&] { read_rows(pixels, row.data(), wanted); })) return failed();
    return upright(image, orientation);
  }

 private:
  // If libjpeg finds an error, it leaves the functions below by longjmp (errors_.exit). So these functions create no
  // objects with destructors.

  void read_header() {
    jpeg_create_decompress(&library_);
    library_.progress = &progress_;
    jpeg_mem_src(&library_, reinterpret_cast<const unsigned char*>(bytes_.data()),
                 static_cast<unsigned long>(bytes_.size()));
    constexpr unsigned kBytesMax = 0xffff;
    if (options_.apply_orientation) jpeg_save_markers(&library_, JPEG_APP0 + 1, kBytesMax);
    jpeg_read_header(&library_, TRUE);
  }

  /// Sets the scale and the colours of the output. The scale is M/8 for a whole number M from 1 to 8. Versions of libjpeg
  /// that do not support all of these scales use the next larger one that they do.
  void choose_output(bool turned) {
    const int64_t height_min = turned ? options_.at_least.width : options_.at_least.height;
    const int64_t width_min = turned ? options_.at_least.height : options_.at_least.width;
    const auto scaled = [](int64_t side, unsigned eighths) { return (side * eighths + 7) / 8; };
    unsigned eighths = height_min == 0 && width_min == 0 ? 8 : 1;
    while (eighths < 8 &&
           (scaled(library_.image_height, eighths) < height_min || scaled(library_.image_width, eighths) < width_min)) {
      ++eighths;
    }
    library_.scale_num = eighths;
    library_.scale_denom = 8;
    library_.dct_method = JDCT_ISLOW;
    library_.do_fancy_upsampling = TRUE;
    const bool grey = library_.num_components == 1 ? options_.channels <= 1 : options_.channels == 1;
    library_.out_color_space = library_.num_components == 4 ? JCS_CMYK : (grey ? JCS_GRAYSCALE : JCS_RGB);
    jpeg_calc_output_dimensions(&library_);
  }

  void read_rows(uint8_t* pixels, uint8_t* row, int wanted) {
    jpeg_start_decompress(&library_);
    const size_t width = library_.output_width;
    const bool is_direct = library_.output_components == wanted && library_.out_color_space != JCS_CMYK;
    while (library_.output_scanline < library_.output_height) {
      uint8_t* const to = pixels + library_.output_scanline * width * size_t(wanted);
      JSAMPROW into = is_direct ? to : row;
      jpeg_read_scanlines(&library_, &into, 1);
      if (is_direct) continue;
      if (library_.out_color_space == JCS_CMYK) inks_to_colours(row, width, library_.saw_Adobe_marker);
      from_colours(row, to, width, wanted);
    }
    jpeg_finish_decompress(&library_);
  }

  int orientation_in_markers() const {
    using namespace std::string_view_literals;
    constexpr std::string_view kExif = "Exif\0\0"sv;
    for (const jpeg_marker_struct* marker = library_.marker_list; marker; marker = marker->next) {
      const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
      if (data.starts_with(kExif)) return orientation_of(data.substr(kExif.size()));
    }
    return 1;
  }

  Error failed() const {
    if (errors_.exit.out_of_memory) return unavailable("libjpeg has no memory for the image");
    // At the end of the data, libjpeg reads an end marker of its own, which the file lacks. bytes_in_buffer may then count
    // the bytes of that marker.
    const size_t left = library_.src ? std::min(library_.src->bytes_in_buffer, bytes_.size()) : bytes_.size();
    const bool at_end = errors_.manager.msg_code == JWRN_JPEG_EOF;
    return data_loss("the JPEG file is damaged near byte " + std::to_string(at_end ? bytes_.size() : bytes_.size() - left) +
                     ": libjpeg says \"" + errors_.exit.sentence.data() + "\"");
  }

  const std::string_view bytes_;
  const ImageOptions& options_;
  JpegErrors errors_;
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct library_{};
};

}  // namespace

Result<Tensor> decode_jpeg(std::string_view bytes, const ImageOptions& options) {
  return JpegDecoder(bytes, options).decode();
}

#else

Result<Tensor> decode_jpeg(std::string_view, const ImageOptions&) {
  return without_image_library("JPEG", "libjpeg", "libjpeg62-turbo-dev");
}

#endif

}  // namespace shoal::data
