// SPDX-License-Identifier: Apache-2.0
#include "onnx_model/strided.h"

#include <algorithm>

namespace shoal::convert::onnx_model {
namespace {

/// Subtracts the memory for shape.elements() texts from the call's memory budget, as if each text were as long as the
/// longest text of x.
Result<void> take_texts(Call& call, const Tensor& x, const Shape& shape) {
  size_t longest = 0;
  for (const std::string& text : x.strings()) longest = std::max(longest, text.size());
  return call.budget().take({int64_t(longest), shape.elements()});
}

}  // namespace

Strides dense_strides(const Shape& shape) {
  Strides strides{};
  int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[size_t(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

Result<Shape> repeated_shape(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> dims(size_t(rank), 1);
  for (const Shape* shape : {&a, &b}) {
    for (int axis = 0; axis < shape->rank(); ++axis) {
      int64_t& size = dims[size_t(axis + rank - shape->rank())];
      if (size == 1) size = (*shape)[axis];
      if ((*shape)[axis] != size && (*shape)[axis] != 1)
        return invalid_argument("the shapes " + to_string(a) + " and " + to_string(b) + " do not repeat to one shape");
    }
  }
  return shape_of(dims);
}

Result<Shape> broadcast(const Call& call, size_t first, size_t last) {
  Shape shape = call.shape(first);
  for (size_t i = first + 1; i <= last; ++i) {
    SHOAL_TRY(shape, repeated_shape(shape, call.shape(i)));
  }
  return shape;
}

Strides repeated_strides(const Shape& operand, const Shape& shape) {
  const Strides dense = dense_strides(operand);
  Strides strides{};
  const int lacking = shape.rank() - operand.rank();
  for (int axis = 0; axis < operand.rank(); ++axis) {
    if (operand[axis] != 1) strides[size_t(axis + lacking)] = dense[size_t(axis)];
  }
  return strides;
}

Result<Tensor> gathered(Call& call, const Tensor& x, const Shape& shape, const Strides& strides, int64_t offset) {
  SHOAL_TRY(Tensor result, call.make(x.dtype(), shape));
  if (x.dtype() == DType::kString) SHOAL_TRY_VOID(take_texts(call, x, shape));
  SHOAL_TRY_VOID(with_type(x.dtype(), [&]<class T>(T) -> Result<void> {
    const auto from = elements_of<T>(x);
    auto to = elements_of<T>(result).begin();
    const int64_t step = last_stride(strides, shape);
    each_row<1>(shape, {strides}, [&](const auto& begins, int64_t count) {
      for (int64_t i = 0; i < count; ++i) *to++ = from[size_t(offset + begins[0] + i * step)];
    });
    return {};
  }));
  return result;
}

Result<Tensor> expanded(Call& call, const Tensor& x, const Shape& shape) {
  const Result<Shape> both = repeated_shape(x.shape(), shape);
  if (!both || *both != shape)
    return invalid_argument("the shape " + to_string(x.shape()) + " does not repeat to " + to_string(shape));
  return gathered(call, x, shape, repeated_strides(x.shape(), shape));
}

}  // namespace shoal::convert::onnx_model
