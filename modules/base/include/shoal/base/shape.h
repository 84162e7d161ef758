// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The size of a dense array in each dimension, all known. (For sizes that vary see graph/dim.h.)
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "shoal/base/check.h"
#include "shoal/base/result.h"

namespace shoal {

/// The sizes of at most eight dimensions, each >= 0. A value type that never allocates.
class Shape {
 public:
  static constexpr int kRankMax = 8;

  Shape() = default;  ///< Rank 0: a scalar, one element.
  /// Raises InvalidArgument for more than kRankMax sizes or a negative size. For sizes from outside use checked().
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);
  /// InvalidArgument if there are too many dimensions, one is negative, or the product overflows int64.
  static Result<Shape> checked(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return SHOAL_DCHECK(axis >= 0 && axis < rank_), dims_[size_t(axis)]; }
  std::span<const int64_t> dims() const { return {dims_.data(), size_t(rank_)}; }
  /// Product of the sizes; 1 for a scalar.
  int64_t elements() const {
    int64_t product = 1;
    for (const int64_t dim : dims()) product *= dim;
    return product;
  }
  /// A copy of this shape in which dimension `axis` has size `size`. Raises InvalidArgument for an axis that the shape does
  /// not have, and for a negative size.
  Shape with(int axis, int64_t size) const;

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int axis = 0; axis < a.rank_; ++axis) {
      if (a.dims_[size_t(axis)] != b.dims_[size_t(axis)]) return false;
    }
    return true;
  }

 private:
  std::array<int64_t, kRankMax> dims_{};
  int8_t rank_ = 0;
};

/// As text: "[32, 28, 28, 1]".
std::string to_string(const Shape& shape);

}  // namespace shoal
