// SPDX-License-Identifier: Apache-2.0
// Seeds of the target `image`: small files of each kind that the formats have.
#include <array>
#include <string>

#include "make_file_seeds.h"
#include "shoal/data/images.h"
#if SHOAL_FUZZ_JPEG
#include <cstdio>  // jpeglib.h needs it before.
#include <cstdlib>

#include <jpeglib.h>
#endif

namespace shoal::fuzz {
namespace {

constexpr char kJpeg = 0, kPng = 1, kAsItStands = 3, kUpright = 16, kAcceptsDamage = 32;

/// A byte that selects kind and options, two of the size that is asked for, and the file behind what the target puts there
/// itself.
std::string input(char how, const std::string& file) {
  const size_t known = how % 4 == kJpeg ? 3 : (how % 4 == kAsItStands ? 0 : 8);
  return std::string{how, 3, 5} + file.substr(known);
}

Tensor pixels(int64_t height, int64_t width, int64_t channels) {
  Tensor image(DType::kUInt8, Shape{height, width, channels});
  unsigned value = 1;
  for (uint8_t& pixel : image.mutable_as<uint8_t>()) pixel = uint8_t((value = value * 37 + 11) >> 3);
  return image;
}

#if SHOAL_FUZZ_JPEG
std::string jpeg(int channels, J_COLOR_SPACE space, bool progressive, const std::string& exif = "") {
  const Tensor image = pixels(17, 12, channels);
  jpeg_error_mgr errors{};
  jpeg_compress_struct library{};
  library.err = jpeg_std_error(&errors);
  jpeg_create_compress(&library);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&library, &bytes, &size);
  library.image_height = 17, library.image_width = 12;
  library.input_components = channels, library.in_color_space = space;
  jpeg_set_defaults(&library);
  jpeg_set_quality(&library, 30, TRUE);
  library.restart_interval = channels == 1 ? 2 : 0;
  if (progressive) jpeg_simple_progression(&library);
  jpeg_start_compress(&library, TRUE);
  if (!exif.empty()) {
    jpeg_write_marker(&library, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(exif.data()), unsigned(exif.size()));
  }
  while (library.next_scanline < library.image_height) {
    JSAMPROW row = const_cast<uint8_t*>(image.as<uint8_t>().data()) + library.next_scanline * 12 * unsigned(channels);
    jpeg_write_scanlines(&library, &row, 1);
  }
  jpeg_finish_compress(&library);
  jpeg_destroy_compress(&library);
  std::string file(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return file;
}
#endif

std::string big_endian(uint32_t number) {
  return {char(number >> 24), char(number >> 16), char(number >> 8), char(number)};
}

/// A chunk of a PNG file; the target computes its checksum.
std::string chunk(const std::string& kind, const std::string& data) {
  return big_endian(uint32_t(data.size())) + kind + data + std::string(4, '\0');
}

/// zlib's format (RFC 1950), with the bytes as they are (RFC 1951, section 3.2.4).
std::string stored(const std::string& bytes) {
  uint32_t a = 1, b = 0;
  for (const char byte : bytes) a = (a + uint8_t(byte)) % 65521, b = (b + a) % 65521;
  const auto size = uint16_t(bytes.size()), rest = uint16_t(~size);
  return std::string("\x78\x01\x01", 3) + char(size) + char(size >> 8) + char(rest) + char(rest >> 8) + bytes +
         big_endian(b << 16 | a);
}

/// A PNG file of 6 rows of 5 pixels that has `bytes` bytes of pixels, filters and all, and `more` chunks before them.
std::string png(char depth, char colour, char interlaced, size_t bytes, const std::string& more = "") {
  std::string data(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) data[i] = char(i % 5);  // All of them are filters as well.
  const std::string head = big_endian(5) + big_endian(6) + std::string{depth, colour, 0, 0, interlaced};
  return std::string(8, '\0') + chunk("IHDR", head) + more + chunk("IDAT", stored(data)) + chunk("IEND", "");
}

}  // namespace

void write_image_seeds(const std::filesystem::path& folder) {
  const auto seed = [&](const std::string& name, const std::string& bytes) { write_seed(folder, "image", name, bytes); };
  const std::string orientation("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0", 22);
#if SHOAL_FUZZ_JPEG
  using namespace std::string_literals;
  seed("jpeg", input(kJpeg, jpeg(3, JCS_RGB, false)));
  seed("jpeg_damage", input(kJpeg + kAcceptsDamage, jpeg(3, JCS_RGB, false)));
  seed("jpeg_grey", input(kJpeg, jpeg(1, JCS_GRAYSCALE, false)));
  seed("jpeg_progressive", input(kJpeg, jpeg(3, JCS_RGB, true)));
  seed("jpeg_progressive_damage", input(kJpeg + kAcceptsDamage, jpeg(3, JCS_RGB, true)));
  seed("jpeg_inks", input(kJpeg, jpeg(4, JCS_CMYK, false)));
  seed("jpeg_upright", input(kJpeg + kUpright, jpeg(3, JCS_RGB, false, "Exif\0\0"s + orientation)));
#endif
  seed("png_grey_1", input(kPng, png(1, 0, 0, 12)));
  seed("png_grey_16_interlaced", input(kPng, png(16, 0, 1, 72)));
  seed("png_palette", input(kPng, png(4, 3, 0, 24, chunk("PLTE", std::string(48, '\x50')) + chunk("tRNS", "abc"))));
  seed("png_palette_interlaced", input(kPng + 12, png(2, 3, 1, 27, chunk("PLTE", std::string(12, '\x50')))));
  seed("png_rgb_transparent", input(kPng, png(8, 2, 0, 96, chunk("tRNS", std::string(6, '\0')))));
  seed("png_rgba_16", input(kPng + 4, png(16, 6, 0, 246)));
  seed("png_upright", input(kPng + kUpright, png(8, 0, 0, 36, chunk("eXIf", orientation))));
  seed("gif", input(kAsItStands, "GIF89a\5\0\5\0"));
  for (const int64_t channels : {1, 2, 3, 4}) {
    const Result<std::string> file = data::encode_png(pixels(9, 7, channels));
    if (file) seed("png_of_" + std::to_string(channels), input(kPng, *file));
    if (file) seed("png_as_it_stands_of_" + std::to_string(channels), input(kAsItStands, *file));
  }
}

}  // namespace shoal::fuzz
