// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Indices that are part of the data: read as int64, checked against their range, and used to find rows.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/backends/backend.h"
#include "shoal/base/result.h"
#include "shoal/base/tensor.h"

namespace shoal::backends {

/// Access to the elements of an int64 or int32 array.
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

/// Returns the address of row number `row`, in the piece that contains this row. Each row has `bytes` bytes.
inline const std::byte* row_in(Pieces pieces, int64_t row, size_t bytes) {
  const auto piece = std::ranges::upper_bound(pieces, row, {}, &Piece::row_end);
  return piece->data + size_t(row - piece->row_begin) * bytes;
}

/// The shape of x regrouped as [outer, bound, inner]; indices select along `bound`.
struct IndexedAxis {
  int64_t outer = 1;
  int64_t bound;
  int64_t inner = 1;

  IndexedAxis(const Shape& x, int64_t axis) : bound(x[int(axis)]) {
    for (int a = 0; a < x.rank(); ++a) (a < axis ? outer : inner) *= a == axis ? 1 : x[a];
  }
};

/// Describes the place of element i of an array, for errors: " in row 3", with more dimensions " in row 3, element 1"; ""
/// for a scalar.
std::string place_text(const Shape& shape, int64_t i);

/// Whether an index may be -1, which means that nothing is looked up.
enum class Missing : uint8_t { kRefused, kAllowed };
/// InvalidArgument for the first index outside of [0, bound), with row (first dimension) and value: "index 12 in row 3 is
/// outside [0, 10)"; with more dimensions "in row 3, element 1".
Result<void> check_indices(const TensorView& indices, int64_t bound, Missing missing = Missing::kRefused);

}  // namespace shoal::backends
