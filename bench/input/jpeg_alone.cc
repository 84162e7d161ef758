// SPDX-License-Identifier: Apache-2.0
// libjpeg by itself: the JPEG files, which are in memory, one after another into one buffer.
#include "works.h"

#if defined(SHOAL_INPUT_BENCH_JPEG)
#include <cstdio>  // jpeglib.h needs it before.

#include <jpeglib.h>
#endif

namespace shoal::bench {

#if defined(SHOAL_INPUT_BENCH_JPEG)
namespace {

/// Errors end the program: the files are those of this benchmark.
void decode_into(std::vector<uint8_t>& pixels, const std::string& bytes) {
  jpeg_decompress_struct library{};
  jpeg_error_mgr errors{};
  library.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&library);
  jpeg_mem_src(&library, reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&library, TRUE);
  library.out_color_space = JCS_RGB;
  jpeg_start_decompress(&library);
  const size_t row_bytes = size_t(library.output_width) * 3;
  pixels.resize(size_t(library.output_height) * row_bytes);
  while (library.output_scanline < library.output_height) {
    JSAMPROW row = pixels.data() + size_t(library.output_scanline) * row_bytes;
    jpeg_read_scanlines(&library, &row, 1);
  }
  jpeg_finish_decompress(&library);
  jpeg_destroy_decompress(&library);
}

}  // namespace

Result<Passed> decode_alone(const std::vector<std::string>& paths, bool sums) {
  static std::map<std::string, std::string> files;  // In memory before the first pass that is timed.
  std::vector<uint8_t> pixels;
  Passed passed;
  for (const std::string& path : paths) {
    std::string& bytes = files[path];
    if (bytes.empty()) bytes = bytes_of(path);
    decode_into(pixels, bytes);
    ++passed.elements;
    passed.bytes += int64_t(bytes.size());
    if (!sums) continue;
    for (const uint8_t value : pixels) passed.sum += value;
  }
  return passed;
}
#else
Result<Passed> decode_alone(const std::vector<std::string>&, bool) {
  return invalid_argument("jpeg_alone: this build has no libjpeg (Debian: libjpeg62-turbo-dev)");
}
#endif

}  // namespace shoal::bench
