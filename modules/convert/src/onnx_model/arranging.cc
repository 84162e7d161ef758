// SPDX-License-Identifier: Apache-2.0
// Ops that move elements, or change only the shape.
#include <algorithm>
#include <limits>
#include <set>

#include "onnx_model/strided.h"

namespace shoal::convert::onnx_model {
namespace {

using Dims = std::vector<int64_t>;

Dims dims_of(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

/// Returns the axes, counted from the start. InvalidArgument for an axis that occurs twice.
Result<std::set<int>> axes_among(const Dims& given, int rank) {
  std::set<int> axes;
  for (const int64_t one : given) {
    SHOAL_TRY(const int axis, axis_of(one, rank));
    if (!axes.insert(axis).second) return invalid_argument("axis " + std::to_string(axis) + " is there twice");
  }
  return axes;
}

/// Sets the node's result to input 0, reshaped to `dims`.
Result<void> give_reshaped(Call& call, const Dims& dims) {
  SHOAL_TRY(const Shape shape, shape_of(dims));
  if (shape.elements() != call.in(0).elements())
    return invalid_argument(to_string(call.shape()) + " does not have the elements of " + to_string(shape));
  call.give(call.in(0).reshaped(shape));
  return {};
}

Result<void> run_identity(Call& call) {
  call.give(call.in(0));
  return {};
}

Result<void> run_reshape(Call& call) {
  SHOAL_TRY(Dims dims, call.int64s(1));
  const bool keeps_zeros = call.number("allowzero", 0) != 0;
  int64_t known = 1;
  auto open = dims.end();
  for (auto dim = dims.begin(); dim != dims.end(); ++dim) {
    const auto axis = size_t(dim - dims.begin());
    if (*dim == 0 && !keeps_zeros) {
      if (axis >= size_t(call.shape().rank()))
        return invalid_argument("size 0 stands for that of an axis that is not there");
      *dim = call.shape()[int(axis)];
    }
    if (*dim == -1) {
      if (open != dims.end()) return invalid_argument("two sizes are -1");
      open = dim;
    } else if (*dim < 0 || (*dim > 0 && known > std::numeric_limits<int64_t>::max() / *dim)) {
      return invalid_argument("a size is " + std::to_string(*dim));
    } else {
      known *= *dim;
    }
  }
  if (open != dims.end()) {
    if (known == 0) return invalid_argument("a size of -1 next to one of 0 stands for no size");
    *open = call.in(0).elements() / known;
  }
  return give_reshaped(call, dims);
}

/// The result has two axes: all axes before "axis" together, and all others together.
Result<void> run_flatten(Call& call) {
  const int rank = call.shape().rank();
  const int64_t axis = call.number("axis", 1) + (call.number("axis", 1) < 0 ? rank : 0);
  if (axis < 0 || axis > rank) return invalid_argument("there is no axis " + std::to_string(call.number("axis", 1)));
  Dims dims{1, 1};
  for (int i = 0; i < rank; ++i) dims[i < axis ? 0 : 1] *= call.shape()[i];
  return give_reshaped(call, dims);
}

Result<void> run_squeeze(Call& call) {
  Dims given;
  if (call.has(1)) {
    SHOAL_TRY(given, call.int64s(1));
  } else {
    for (int64_t axis = 0; axis < call.shape().rank(); ++axis) {
      if (call.shape()[int(axis)] == 1) given.push_back(axis);
    }
  }
  SHOAL_TRY(const std::set<int> axes, axes_among(given, call.shape().rank()));
  Dims dims;
  for (int axis = 0; axis < call.shape().rank(); ++axis) {
    if (!axes.contains(axis)) dims.push_back(call.shape()[axis]);
  }
  return give_reshaped(call, dims);
}

Result<void> run_unsqueeze(Call& call) {
  SHOAL_TRY(const Dims given, call.int64s(1));
  if (given.size() > size_t(Shape::kRankMax))
    return invalid_argument(std::to_string(given.size()) + " axes are too many: a tensor has at most 8");
  const int rank = call.shape().rank() + int(given.size());
  SHOAL_TRY(const std::set<int> axes, axes_among(given, rank));
  Dims dims;
  for (int axis = 0, from = 0; axis < rank; ++axis) dims.push_back(axes.contains(axis) ? 1 : call.shape()[from++]);
  return give_reshaped(call, dims);
}

Result<void> run_expand(Call& call) {
  SHOAL_TRY(const Dims dims, call.int64s(1));
  SHOAL_TRY(const Shape asked, shape_of(dims));
  SHOAL_TRY(const Shape shape, repeated_shape(call.shape(), asked));
  SHOAL_TRY(Tensor result, expanded(call, call.in(0), shape));
  call.give(std::move(result));
  return {};
}

Result<void> run_transpose(Call& call) {
  const int rank = call.shape().rank();
  Dims permutation;
  for (int64_t axis = rank - 1; axis >= 0; --axis) permutation.push_back(axis);
  permutation = call.numbers("perm", permutation);
  SHOAL_TRY(const std::set<int> axes, axes_among(permutation, rank));
  if (axes.size() != size_t(rank))
    return invalid_argument("attribute \"perm\" does not name each axis of " + to_string(call.shape()));
  const Strides from = dense_strides(call.shape());
  Strides strides{};
  Dims dims;
  for (size_t axis = 0; axis < permutation.size(); ++axis) {
    SHOAL_TRY(const int source, axis_of(permutation[axis], rank));
    dims.push_back(call.shape()[source]);
    strides[axis] = from[size_t(source)];
  }
  SHOAL_TRY(const Shape shape, shape_of(dims));
  SHOAL_TRY(Tensor result, gathered(call, call.in(0), shape, strides));
  call.give(std::move(result));
  return {};
}

/// The elements of an axis that Slice takes: begin and count. The rules are those of Python's slices.
struct SliceAxis {
  int64_t begin, count;
};
SliceAxis slice_axis(int64_t size, int64_t start, int64_t end, int64_t step) {
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  const auto placed = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, low, high); };
  const int64_t begin = placed(start), behind = placed(end);
  // Every step beyond the size takes one element only, so the step is clamped. The arithmetic below then cannot overflow.
  const int64_t stride = std::clamp(step, -size - 1, size + 1);
  const int64_t distance = stride > 0 ? behind - begin : begin - behind;
  return {begin, distance <= 0 ? 0 : (distance - 1) / (stride > 0 ? stride : -stride) + 1};
}

Result<void> run_slice(Call& call) {
  SHOAL_TRY(const Dims starts, call.int64s(1));
  SHOAL_TRY(const Dims ends, call.int64s(2));
  Dims axes, steps(starts.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) axes.push_back(int64_t(i));
  if (call.has(3)) {
    SHOAL_TRY(axes, call.int64s(3));
  }
  if (call.has(4)) {
    SHOAL_TRY(steps, call.int64s(4));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return invalid_argument("starts, ends, axes and steps are not equally many");
  const int rank = call.shape().rank();
  SHOAL_TRY_VOID(axes_among(axes, rank));
  Dims dims = dims_of(call.shape());
  Strides strides = dense_strides(call.shape());
  int64_t offset = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    SHOAL_TRY(const int axis, axis_of(axes[i], rank));
    if (steps[i] == 0) return invalid_argument("a step is 0");
    const int64_t size = call.shape()[axis];
    const SliceAxis slice = slice_axis(size, starts[i], ends[i], steps[i]);
    int64_t& stride = strides[size_t(axis)];
    dims[size_t(axis)] = slice.count;
    if (slice.count > 0) offset += slice.begin * stride;
    stride = slice.count > 1 ? stride * steps[i] : 0;
  }
  SHOAL_TRY(const Shape shape, shape_of(dims));
  SHOAL_TRY(Tensor result, gathered(call, call.in(0), shape, strides, offset));
  call.give(std::move(result));
  return {};
}

Result<void> run_split(Call& call) {
  const Shape& shape = call.shape();
  SHOAL_TRY(const int axis, axis_of(call.number("axis", 0), shape.rank()));
  const auto parts = int64_t(call.outputs());
  Dims sizes(size_t(parts), shape[axis] / parts);
  if (call.has(1)) {
    SHOAL_TRY(sizes, call.int64s(1));
  } else if (shape[axis] % parts != 0) {
    return invalid_argument("axis " + std::to_string(axis) + " of " + to_string(shape) + " has no " +
                            std::to_string(parts) + " equal parts");
  }
  if (sizes.size() != call.outputs()) return invalid_argument("there is not one size for each output");
  int64_t left = shape[axis];
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > left)
      return invalid_argument("the sizes are not those of axis " + std::to_string(axis) + " of " + to_string(shape));
    const Strides strides = dense_strides(shape);
    const int64_t offset = (shape[axis] - left) * strides[size_t(axis)];
    SHOAL_TRY(Tensor part, gathered(call, call.in(0), shape.with(axis, sizes[i]), strides, offset));
    call.give(std::move(part), i);
    left -= sizes[i];
  }
  if (left == 0) return {};
  return invalid_argument("the sizes leave " + std::to_string(left) + " elements of axis " + std::to_string(axis) + " of " +
                          to_string(shape));
}

/// Copies the elements of `from` into a part of `to` of the same shape, which begins at element `offset` of `to`.
Result<void> place_into(const Tensor& from, Tensor& to, int64_t offset) {
  const Strides strides = dense_strides(to.shape());
  return with_type(from.dtype(), [&]<class T>(T) -> Result<void> {
    auto next = elements_of<T>(from).begin();
    const auto target = elements_of<T>(to);
    each_row<1>(from.shape(), {strides}, [&](const auto& begins, int64_t count) {
      std::copy_n(next, count, target.begin() + (offset + begins[0]));
      next += count;
    });
    return {};
  });
}

Result<void> run_concat(Call& call) {
  SHOAL_TRY_VOID(call.want_one_type());
  const Shape& first = call.shape();
  if (!call.find("axis")) return invalid_argument("attribute \"axis\" is missing");
  SHOAL_TRY(const int axis, axis_of(call.number("axis", 0), first.rank()));
  Dims dims = dims_of(first);
  dims[size_t(axis)] = 0;
  for (size_t i = 0; i < call.inputs(); ++i) {
    const Shape& shape = call.shape(i);
    if (shape.rank() != first.rank() || shape.with(axis, first[axis]) != first)
      return invalid_argument("the shapes " + to_string(first) + " and " + to_string(shape) + " do not lie side by side");
    if (__builtin_add_overflow(dims[size_t(axis)], shape[axis], &dims[size_t(axis)]))
      return invalid_argument("the result would be too large");
  }
  SHOAL_TRY(Tensor result, call.make(call.dtype(), dims));
  const int64_t stride = dense_strides(result.shape())[size_t(axis)];
  for (size_t i = 0, at = 0; i < call.inputs(); ++i) {
    SHOAL_TRY_VOID(place_into(call.in(i), result, int64_t(at) * stride));
    at += size_t(call.shape(i)[axis]);
  }
  call.give(std::move(result));
  return {};
}

Result<void> run_pad(Call& call) {
  const Shape& shape = call.shape();
  SHOAL_TRY(const Dims pads, call.int64s(1));
  const auto rank = size_t(shape.rank());
  if (pads.size() != 2 * rank) return invalid_argument("there are not two pads for each axis of " + to_string(shape));
  if (call.dtype() == DType::kString) return call.unknown_type();
  Dims dims = dims_of(shape);
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] < 0 || __builtin_add_overflow(dims[i % rank], pads[i], &dims[i % rank]))
      return invalid_argument("a pad of " + std::to_string(pads[i]) + " is not known here");
  }
  SHOAL_TRY(Tensor result, call.make(call.dtype(), dims));
  if (call.has(2)) {
    SHOAL_TRY_VOID(call.want(2, call.dtype()));
    if (call.in(2).elements() != 1) return invalid_argument("input 2 is not one element");
  }
  SHOAL_TRY_VOID(with_type(call.dtype(), [&]<class T>(T) -> Result<void> {
    std::ranges::fill(elements_of<T>(result), call.has(2) ? elements_of<T>(call.in(2))[0] : T());
    return {};
  }));
  const Strides strides = dense_strides(result.shape());
  int64_t offset = 0;
  for (size_t axis = 0; axis < rank; ++axis) offset += pads[axis] * strides[axis];
  if (call.in(0).elements() > 0) SHOAL_TRY_VOID(place_into(call.in(0), result, offset));
  call.give(std::move(result));
  return {};
}

}  // namespace

void add_arranging(Kernels& kernels) {
  kernels["Identity"] = {run_identity};
  kernels["Reshape"] = {run_reshape, 2, 2, {{"allowzero", AttributeType::kInt}}};
  kernels["Flatten"] = {run_flatten, 1, 1, {{"axis", AttributeType::kInt}}};
  kernels["Squeeze"] = {run_squeeze, 1, 2};
  kernels["Unsqueeze"] = {run_unsqueeze, 2, 2};
  kernels["Expand"] = {run_expand, 2, 2};
  kernels["Transpose"] = {run_transpose, 1, 1, {{"perm", AttributeType::kInts}}};
  kernels["Slice"] = {run_slice, 3, 5};
  kernels["Split"] = {run_split, 1, 2, {{"axis", AttributeType::kInt}}, kAnyCount};
  kernels["Concat"] = {run_concat, 1, kAnyCount, {{"axis", AttributeType::kInt}}};
  kernels["Pad"] = {run_pad, 2, 3, {{"mode", AttributeType::kText, "constant"}}};
}

}  // namespace shoal::convert::onnx_model
