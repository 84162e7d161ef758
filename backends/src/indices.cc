#include "shoal/backends/indices.h"

#include <string>

namespace shoal::backends {
namespace {

Error outside(const Shape& shape, int64_t i, int64_t value, int64_t bound) {
  std::string place;
  if (shape.rank() > 0) {
    const int64_t per_row = shape.elements() / shape[0];
    place = " in row " + std::to_string(i / per_row);
    if (shape.rank() > 1) place += ", element " + std::to_string(i % per_row);
  }
  return invalid_argument("index " + std::to_string(value) + place + " is outside [0, " + std::to_string(bound) + ")");
}

template <class T>
Result<void> check(const TensorView& indices, int64_t bound) {
  const T* values = reinterpret_cast<const T*>(indices.data);
  const int64_t count = indices.elements();
  for (int64_t i = 0; i < count; ++i) {
    if (values[i] < 0 || values[i] >= bound) [[unlikely]]
      return outside(indices.shape, i, values[i], bound);
  }
  return {};
}

}  // namespace

Result<void> check_indices(const TensorView& indices, int64_t bound) {
  return indices.dtype == DType::kInt64 ? check<int64_t>(indices, bound) : check<int32_t>(indices, bound);
}

}  // namespace shoal::backends
