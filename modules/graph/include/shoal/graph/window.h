// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Windows that slide over images: the choice of padding, and the resulting sizes. For conv2d and the pools.
#include <array>
#include <cstdint>

#include "shoal/base/result.h"

namespace shoal {

/// The extension of an image at its borders (with zeros for conv2d; pools ignore the added elements).
struct Padding {
  enum class Kind : uint8_t { kValid, kSame, kExplicit };
  Kind kind = Kind::kValid;
  std::array<int64_t, 4> sizes{};  ///< For kExplicit: top, bottom, left, right; each >= 0.

  static Padding valid() { return {}; }  ///< No padding: all windows lie inside of the image.
  /// Pads until ceil(size / stride) windows fit along an axis. If an odd number of rows or columns is added, the bottom or
  /// the right gets one more than the top or the left.
  static Padding same() { return {Kind::kSame, {}}; }
  static Padding explicit_sizes(int64_t top, int64_t bottom, int64_t left, int64_t right) {
    return {Kind::kExplicit, {top, bottom, left, right}};
  }
  friend bool operator==(const Padding&, const Padding&) = default;
};

/// The padding before and after one axis.
struct AxisPadding {
  int64_t before = 0;
  int64_t after = 0;
};
/// The padding of kSame along one axis of `size`, for windows of `window` elements every `stride` elements.
AxisPadding same_padding(int64_t size, int64_t window, int64_t stride);

/// The number of windows along one axis. InvalidArgument if the window does not fit, or if the padding is as large as a
/// window (which could then contain no element).
Result<int64_t> window_count(int64_t size, int64_t window, int64_t stride, AxisPadding padding);

}  // namespace shoal
