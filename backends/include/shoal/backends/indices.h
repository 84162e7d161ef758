// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Indices that come with the data: read as int64, refused where they point outside, and what they point into.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/backends/backend.h"
#include "shoal/base/result.h"
#include "shoal/base/tensor.h"

namespace shoal::backends {

/// Element i of an int64 or int32 array.
class Indices {
 public:
  explicit Indices(const TensorView& view)
      : data_(view.data), count_(view.elements()), wide_(view.dtype == DType::kInt64) {}
  int64_t operator[](int64_t i) const {
    return wide_ ? reinterpret_cast<const int64_t*>(data_)[i] : reinterpret_cast<const int32_t*>(data_)[i];
  }
  int64_t count() const { return count_; }

 private:
  const std::byte* data_;
  int64_t count_;
  bool wide_;
};

/// Where a row of `bytes` lies that one of `pieces` has.
inline const std::byte* row_in(Pieces pieces, int64_t row, size_t bytes) {
  const auto piece = std::ranges::upper_bound(pieces, row, {}, &Piece::row_end);
  return piece->data + size_t(row - piece->row_begin) * bytes;
}

/// What is looked up along an axis of x, as [outer, bound, inner]: indices are of `bound`.
struct IndexedAxis {
  int64_t outer = 1;
  int64_t bound;
  int64_t inner = 1;

  IndexedAxis(const Shape& x, int64_t axis) : bound(x[int(axis)]) {
    for (int a = 0; a < x.rank(); ++a) (a < axis ? outer : inner) *= a == axis ? 1 : x[a];
  }
};

/// Where element i of an array lies, for error sentences: " in row 3", with more dimensions " in row 3, element 1"; "" for
/// a lone number.
std::string place_text(const Shape& shape, int64_t i);

/// Whether an index may be -1: nothing is there.
enum class Missing : uint8_t { kRefused, kAllowed };
/// InvalidArgument naming the first index outside [0, bound), by row (first dimension) and value: "index 12 in row 3 is
/// outside [0, 10)"; with more dimensions "in row 3, element 1".
Result<void> check_indices(const TensorView& indices, int64_t bound, Missing missing = Missing::kRefused);

}  // namespace shoal::backends
