// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Walks over the elements of tensors that are broadcast, transposed, sliced or reduced.
#include <array>
#include <cstdint>

#include "onnx_model/kernel.h"

namespace shoal::convert::onnx_model {

using Strides = std::array<int64_t, Shape::kRankMax>;

/// The distance of neighbours along each axis of a dense tensor.
Strides dense_strides(const Shape& shape);
/// The shape to which two shapes broadcast, by the rule of numpy.
Result<Shape> repeated_shape(const Shape& a, const Shape& b);
/// The shape that inputs `first` to `last` broadcast to.
Result<Shape> broadcast(const Call& call, size_t first, size_t last);
/// The strides of an operand that broadcasts to `shape`: 0 along the axes where the operand is repeated.
Strides repeated_strides(const Shape& operand, const Shape& shape);

/// Calls visit(offsets, count) for each row along the last axis of `shape`, in order. offsets[k] is the position of the
/// row's first element in operand k. A scalar is a row of one element.
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

/// The stride along the last axis; 0 for a scalar, whose only row has one element.
inline int64_t last_stride(const Strides& strides, const Shape& shape) {
  return shape.rank() == 0 ? 0 : strides[size_t(shape.rank() - 1)];
}

/// Copies elements of `x` into a tensor of `shape`. The first one is element `offset` of x; `strides` has the distance in x
/// between neighbours along each axis of `shape`.
Result<Tensor> gathered(Call& call, const Tensor& x, const Shape& shape, const Strides& strides, int64_t offset = 0);

/// Returns `x` broadcast to `shape`. InvalidArgument if x broadcasts only to a larger shape, or not at all.
Result<Tensor> expanded(Call& call, const Tensor& x, const Shape& shape);

}  // namespace shoal::convert::onnx_model
