// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Walks over tensors whose axes do not lie one in the other: broadcast, transposed, sliced or reduced ones.
#include <array>
#include <cstdint>

#include "onnx_model/kernel.h"

namespace shoal::convert::onnx_model {

using Strides = std::array<int64_t, Shape::kRankMax>;

/// The distance of neighbours along each axis of a dense tensor.
Strides dense_strides(const Shape& shape);
/// The shape that two shapes repeat to, by the rule of numpy.
Result<Shape> repeated_shape(const Shape& a, const Shape& b);
/// The shape that inputs `first` to `last` broadcast to.
Result<Shape> broadcast(const Call& call, size_t first, size_t last);
/// The strides of an operand that repeats to `shape`: 0 where it does.
Strides repeated_strides(const Shape& operand, const Shape& shape);

/// Calls visit(offsets, count) for each row along the last axis of `shape`, in order: where the row begins in each of the
/// operands. A scalar is a row of one element.
template <size_t kOperands, class Visit>
void each_row(const Shape& shape, const std::array<Strides, kOperands>& strides, Visit visit) {
  if (shape.elements() == 0) return;
  const int outer = shape.rank() - 1;
  std::array<int64_t, kOperands> offsets{};
  if (outer < 0) return visit(offsets, int64_t(1));
  std::array<int64_t, Shape::kRankMax> place{};
  while (true) {
    visit(offsets, shape[outer]);
    int axis = outer - 1;
    for (; axis >= 0; --axis) {
      const auto at = size_t(axis);
      for (size_t k = 0; k < kOperands; ++k) offsets[k] += strides[k][at];
      if (++place[at] < shape[axis]) break;
      for (size_t k = 0; k < kOperands; ++k) offsets[k] -= strides[k][at] * shape[axis];
      place[at] = 0;
    }
    if (axis < 0) return;
  }
}

/// The stride along the last axis; of a scalar, any.
inline int64_t last_stride(const Strides& strides, const Shape& shape) {
  return shape.rank() == 0 ? 0 : strides[size_t(shape.rank() - 1)];
}

/// A tensor of `shape` whose elements are those of `x` from `offset` on, with these strides.
Result<Tensor> gathered(Call& call, const Tensor& x, const Shape& shape, const Strides& strides, int64_t offset = 0);

/// A tensor that repeats to this shape, and not to a larger one.
Result<Tensor> expanded(Call& call, const Tensor& x, const Shape& shape);

}  // namespace shoal::convert::onnx_model
