#pragma once
/// Windows that slide over images: sizes, strides and padding, for convolution and pooling.
#include <array>
#include <cstdint>

namespace shoal::nn {

/// A size in pixels: `.kernel = 5` is a square, `.kernel = {3, 5}` is three high, five wide.
struct Extent {
  int64_t height = 1;
  int64_t width = 1;
  constexpr Extent(int side) : height(side), width(side) {}  // NOLINT: a number is a square
  constexpr Extent(int64_t height_, int64_t width_) : height(height_), width(width_) {}
  friend bool operator==(const Extent&, const Extent&) = default;
};

enum class Padding : uint8_t {
  kValid = 0,  ///< none: outputs = (size - window) / stride + 1, rounded down
  kSame = 1,   ///< zeros around: outputs = size / stride, rounded up; an odd one goes to the bottom and the right
};

}  // namespace shoal::nn
