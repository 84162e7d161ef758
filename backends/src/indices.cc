// SPDX-License-Identifier: Apache-2.0
#include "shoal/backends/indices.h"

#include <string>

namespace shoal::backends {
namespace {

Error outside(const TensorView& indices, int64_t i, int64_t value, int64_t bound) {
  return invalid_argument("index " + std::to_string(value) + place_text(indices.shape, i) + " is outside [0, " +
                          std::to_string(bound) + ")")
      .with_place({indices.data, i});
}

template <class T>
Result<void> check(const TensorView& indices, int64_t bound, Missing missing) {
  const int64_t least = missing == Missing::kAllowed ? -1 : 0;
  const T* values = reinterpret_cast<const T*>(indices.data);
  const int64_t count = indices.elements();
  for (int64_t i = 0; i < count; ++i) {
    if (values[i] < least || values[i] >= bound) [[unlikely]]
      return outside(indices, i, values[i], bound);
  }
  return {};
}

}  // namespace

std::string place_text(const Shape& shape, int64_t i) {
  if (shape.rank() == 0) return "";
  const int64_t per_row = shape.elements() / shape[0];
  const std::string row = " in row " + std::to_string(i / per_row);
  return shape.rank() == 1 ? row : row + ", element " + std::to_string(i % per_row);
}

Result<void> check_indices(const TensorView& indices, int64_t bound, Missing missing) {
  return indices.dtype == DType::kInt64 ? check<int64_t>(indices, bound, missing) : check<int32_t>(indices, bound, missing);
}

}  // namespace shoal::backends
