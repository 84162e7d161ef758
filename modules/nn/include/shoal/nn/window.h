// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sizes of windows that slide over images, for convolution and pooling. shoal/graph/window.h has their padding.
#include <array>
#include <cstdint>

#include "shoal/graph/window.h"

namespace shoal::nn {

/// A size in pixels: `.kernel = 5` is a square; `.kernel = {3, 5}` is three pixels high and five wide.
struct Extent {
  int64_t height = 1;
  int64_t width = 1;
  constexpr Extent(int64_t side) : height(side), width(side) {}  // NOLINT: a number is a square
  constexpr Extent(int64_t height_, int64_t width_) : height(height_), width(width_) {}
  constexpr std::array<int64_t, 2> sizes() const { return {height, width}; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

}  // namespace shoal::nn
