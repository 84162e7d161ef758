// SPDX-License-Identifier: Apache-2.0 Decodes an image. The first byte of the input selects a JPEG file, a PNG file, or the
// bytes as they stand, and options; two more are the size that is asked for. The target puts the bytes before them by which
// the format is known, and gives each chunk of a PNG file its right checksum, since no mutation finds one. The image is
// within the limits, is the same a second time, and a PNG file that is made of it has its pixels.
#include <array>
#include <cstdint>
#include <string>

#include "shoal/base/check.h"
#include "shoal/data/images.h"
#include "target.h"

namespace shoal::data {
namespace {

constexpr int64_t kPixelsMax = 2048;

/// CRC-32 as in annex D of the PNG specification.
uint32_t crc_of(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> all{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? 0xedb88320 ^ crc >> 1 : crc >> 1;
      all[i] = crc;
    }
    return all;
  }();
  uint32_t crc = ~uint32_t(0);
  for (const char byte : bytes) crc = table[(crc ^ uint8_t(byte)) & 0xff] ^ crc >> 8;
  return ~crc;
}

/// Corrects the checksum of each chunk that lies within the file.
void correct_checksums(std::string& png) {
  const auto number = [&](size_t at) {
    return uint32_t(uint8_t(png[at])) << 24 | uint32_t(uint8_t(png[at + 1])) << 16 | uint32_t(uint8_t(png[at + 2])) << 8 |
           uint32_t(uint8_t(png[at + 3]));
  };
  for (size_t at = 8; png.size() - at >= 12;) {
    const uint32_t length = number(at);
    if (length > png.size() - at - 12) return;
    const size_t end = at + 8 + length;
    const uint32_t crc = crc_of(std::string_view(png).substr(at + 4, 4 + length));
    for (int i = 0; i < 4; ++i) png[end + size_t(i)] = char(crc >> (24 - 8 * i));
    at = end + 4;
  }
}

void check(const std::string& file, const ImageOptions& options) {
  const Result<Tensor> image = decode_image(file, options);
  if (!image) {
    fuzz::touch(image.error().message());
    SHOAL_CHECK(image.error().kind() == ErrorKind::kDataLoss || image.error().kind() == ErrorKind::kFailedPrecondition);
    return;
  }
  const Shape& shape = image->shape();
  SHOAL_CHECK(image->dtype() == DType::kUInt8 && shape.rank() == 3 && shape[0] >= 1 && shape[1] >= 1);
  SHOAL_CHECK(shape[0] * shape[1] <= kPixelsMax);
  SHOAL_CHECK(options.channels == 0 ? shape[2] >= 1 && shape[2] <= 4 : shape[2] == options.channels);
  fuzz::touch(image->as<uint8_t>());
  const Result<Tensor> again = decode_image(file, options);
  SHOAL_CHECK(again && again->shape() == shape && std::memcmp(again->view().data, image->view().data, image->bytes()) == 0);
  if (image->as<uint8_t>()[0] % 16 != 0) return;  // A few of them are enough.
  const Result<std::string> png = encode_png(*image);
  if (!png) return;
  const Tensor read = value_or_raise(decode_image(*png));
  SHOAL_CHECK(read.shape() == shape && std::memcmp(read.view().data, image->view().data, image->bytes()) == 0);
}

}  // namespace
}  // namespace shoal::data

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::data;
  fuzz::Input input(data, size);
  const uint8_t how = input.take<uint8_t>();
  const int64_t height = input.take<uint8_t>(), width = input.take<uint8_t>();
  constexpr int kChannels[] = {0, 1, 3, 4};
  const ImageOptions options{.channels = kChannels[how / 4 % 4],
                             .pixels_max = kPixelsMax,
                             .at_least = {.height = height, .width = width},
                             .apply_orientation = (how & 16) != 0,
                             .accept_damage = (how & 32) != 0};
  std::string file(input.text());
  if (how % 4 == 0) file = "\xff\xd8\xff" + file;
  if (how % 4 == 1 || how % 4 == 2) {
    file = "\x89PNG\r\n\x1a\n" + file;
    if (how % 4 == 1) correct_checksums(file);
  }
  check(file, options);
  return 0;
}
