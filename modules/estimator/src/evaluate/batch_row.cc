// SPDX-License-Identifier: Apache-2.0
#include "evaluate/batch_row.h"

#include <cstring>
#include <string>
#include <vector>

namespace shoal {

Tensor batch_row(const Tensor& batch, int64_t row, BatchAxis axis) {
  const auto sizes = batch.shape().dims();
  std::vector<int64_t> dims(sizes.begin() + 1, sizes.end());
  if (axis == BatchAxis::kKept) dims.insert(dims.begin(), 1);
  const Shape shape(dims);
  if (batch.dtype() == DType::kString) {
    const int64_t count = shape.elements();
    const auto first = batch.strings().begin() + row * count;
    return Tensor::of_strings(shape, std::vector<std::string>(first, first + count));
  }
  Tensor result(batch.dtype(), shape);
  if (result.bytes() > 0) {
    std::memcpy(result.mutable_view().data, batch.view().data + size_t(row) * result.bytes(), result.bytes());
  }
  return result;
}

}  // namespace shoal
