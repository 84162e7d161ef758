// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Maps each element of a larger tensor to an element of a smaller one, for broadcasts and reductions.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "shoal/base/shape.h"

namespace shoal::backends::reference {

class Projection {
 public:
  /// `part` broadcast to `full`: aligned at the last axis, sizes of 1 repeated.
  static Projection broadcast(const Shape& full, const Shape& part) {
    Projection result(full);
    int64_t stride = 1;
    for (int axis = part.rank() - 1, at = full.rank() - 1; axis >= 0; --axis, --at) {
      if (part[axis] != 1) result.strides_[size_t(at)] = stride;
      stride *= part[axis];
    }
    return result;
  }
  /// Returns the map to a tensor that has all axes of `full` except `axes` (or has these with size 1).
  static Projection without(const Shape& full, std::span<const int64_t> axes) {
    Projection result(full);
    int64_t stride = 1;
    for (int axis = full.rank() - 1; axis >= 0; --axis) {
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
      result.strides_[size_t(axis)] = stride;
      stride *= full[axis];
    }
    return result;
  }

  size_t operator()(size_t index) const {
    auto rest = int64_t(index), place = int64_t(0);
    for (int axis = full_.rank() - 1; axis >= 0; --axis) {
      place += rest % full_[axis] * strides_[size_t(axis)];
      rest /= full_[axis];
    }
    return size_t(place);
  }

 private:
  explicit Projection(const Shape& full) : full_(full) {}
  Shape full_;
  std::array<int64_t, Shape::kRankMax> strides_{};
};

}  // namespace shoal::backends::reference
