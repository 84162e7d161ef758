// SPDX-License-Identifier: Apache-2.0
#include "orientation.h"

#include <cstdint>
#include <cstring>

namespace shoal::data {
namespace {

/// Reads numbers of a TIFF file, whose first bytes tell the byte order. Numbers beyond the end of the data are 0.
class TiffNumbers {
 public:
  explicit TiffNumbers(std::string_view bytes) : bytes_(bytes), is_big_endian_(bytes.starts_with("MM")) {}
  uint32_t number(uint64_t offset, unsigned width) const {
    if (offset + width > bytes_.size()) return 0;
    uint32_t value = 0;
    for (unsigned i = 0; i < width; ++i) {
      const auto byte = uint32_t(uint8_t(bytes_[size_t(offset + i)]));
      value |= byte << 8 * (is_big_endian_ ? width - 1 - i : i);
    }
    return value;
  }

 private:
  std::string_view bytes_;
  bool is_big_endian_;
};

/// The place of a pixel. place_before() returns where a stored image has the pixel (row, column) of the upright image.
struct PixelPlace {
  int64_t row, column;
};
PixelPlace place_before(int orientation, int64_t row, int64_t column, int64_t height, int64_t width) {
  switch (orientation) {
    case 2: return {row, width - 1 - column};
    case 3: return {height - 1 - row, width - 1 - column};
    case 4: return {height - 1 - row, column};
    case 5: return {column, row};
    case 6: return {height - 1 - column, row};
    case 7: return {height - 1 - column, width - 1 - row};
    case 8: return {column, width - 1 - row};
    default: return {row, column};
  }
}

}  // namespace

int orientation_of(std::string_view exif) {
  constexpr uint32_t kOrientationTag = 0x0112, kShortType = 3;
  constexpr uint64_t kEntryBytes = 12;
  using namespace std::string_view_literals;
  if (!exif.starts_with("II*\0"sv) && !exif.starts_with("MM\0*"sv)) return 1;
  const TiffNumbers tiff(exif);
  const uint64_t directory = tiff.number(4, 4);
  const uint32_t entries = tiff.number(directory, 2);
  for (uint32_t i = 0; i < entries; ++i) {
    const uint64_t entry = directory + 2 + i * kEntryBytes;
    if (tiff.number(entry, 2) != kOrientationTag) continue;
    const uint32_t value = tiff.number(entry + 2, 2) == kShortType ? tiff.number(entry + 8, 2) : 0;
    return value >= 1 && value <= 8 ? int(value) : 1;
  }
  return 1;
}

Tensor upright(const Tensor& image, int orientation) {
  if (orientation == 1) return image;
  const int64_t height = image.shape()[0], width = image.shape()[1], channels = image.shape()[2];
  const bool turned = is_turned(orientation);
  Tensor result(DType::kUInt8, Shape{turned ? width : height, turned ? height : width, channels});
  const uint8_t* const from = image.as<uint8_t>().data();
  uint8_t* to = result.mutable_as<uint8_t>().data();
  for (int64_t row = 0; row < result.shape()[0]; ++row) {
    for (int64_t column = 0; column < result.shape()[1]; ++column, to += channels) {
      const PixelPlace place = place_before(orientation, row, column, height, width);
      std::memcpy(to, from + (place.row * width + place.column) * channels, size_t(channels));
    }
  }
  return result;
}

}  // namespace shoal::data
