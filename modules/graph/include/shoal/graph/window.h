// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Windows that slide over images: how padding is chosen and what sizes come out. For conv2d and the pools.
#include <array>
#include <cstdint>

#include "shoal/base/result.h"

namespace shoal {

/// How far an image is extended at its borders (with zeros for conv2d; pools ignore what lies outside).
struct Padding {
  enum class Kind : uint8_t { kValid, kSame, kExplicit };
  Kind kind = Kind::kValid;
  std::array<int64_t, 4> sizes{};  ///< For kExplicit: top, bottom, left, right; each >= 0.

  static Padding valid() { return {}; }  ///< No padding: windows lie inside.
  /// As much padding as it takes for ceil(size / stride) outputs; an odd remainder goes to the bottom and right.
  static Padding same() { return {Kind::kSame, {}}; }
  static Padding explicit_sizes(int64_t top, int64_t bottom, int64_t left, int64_t right) {
    return {Kind::kExplicit, {top, bottom, left, right}};
  }
  friend bool operator==(const Padding&, const Padding&) = default;
};

/// Padding before and after one axis.
struct AxisPadding {
  int64_t before = 0;
  int64_t after = 0;
};
/// What kSame means along one axis of `size` with windows of `window` every `stride`.
AxisPadding same_padding(int64_t size, int64_t window, int64_t stride);

/// Number of windows along one axis; InvalidArgument if the window does not fit or padding reaches a whole window (a
/// window would then see no element).
Result<int64_t> window_count(int64_t size, int64_t window, int64_t stride, AxisPadding padding);

}  // namespace shoal
