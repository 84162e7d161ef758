// SPDX-License-Identifier: Apache-2.0
/// Ops that move elements: transpose, concat, split, slice, pad.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

constexpr int64_t kWhole = -1;  // The attribute "size" for a whole axis, also if the axis's size is a symbol.

Outputs transpose_types(Types inputs, const Attributes& attributes) {
  const DimShape& from = inputs[0].shape;
  SHOAL_TRY(const auto permutation, ints_attribute(attributes, "permutation", size_t(from.rank())));
  std::vector<bool> seen(permutation.size());
  std::vector<Dim> dims;
  for (int64_t axis : permutation) {
    if (axis < 0 || axis >= from.rank() || seen[size_t(axis)]) {
      return invalid_argument("the permutation must name each axis of x " + to_string(from) + " once");
    }
    seen[size_t(axis)] = true;
    dims.push_back(from[int(axis)]);
  }
  return std::vector{ValueType{inputs[0].dtype, DimShape(std::move(dims))}};
}

std::vector<Value> transpose_gradient(const GradientRequest& request) {
  const auto& permutation = request.node.attributes.get_ints("permutation");
  std::vector<int64_t> inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[size_t(permutation[i])] = int64_t(i);
  return request.graph.add("transpose", {request.output_gradients[0]}, {{"permutation", std::move(inverse)}});
}

/// The size of an axis. InvalidArgument if the size is a symbol, such as the batch size, and not a number.
Result<int64_t> number_at(const ValueType& type, int64_t axis, std::string_view what) {
  const Dim& dim = type.shape[int(axis)];
  if (!dim.is_symbol()) return dim.size();
  return invalid_argument(std::string(what) + " " + to_string(type.shape) + ": size " + std::to_string(axis) +
                          " must be a number, not a symbol");
}

Result<int64_t> axis_attribute(const Attributes& attributes, const ValueType& type, std::string_view what) {
  SHOAL_TRY(const int64_t axis, int_attribute(attributes, "axis"));
  if (axis >= 0 && axis < type.shape.rank()) return axis;
  return invalid_argument(std::string(what) + " " + to_string(type.shape) + " has no axis " + std::to_string(axis));
}

DimShape with_size(const DimShape& shape, int64_t axis, Dim size) {
  std::vector<Dim> dims = shape.dims();
  dims[size_t(axis)] = std::move(size);
  return DimShape(std::move(dims));
}

Outputs concat_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(const int64_t axis, axis_attribute(attributes, inputs[0], "value 0"));
  int64_t sum = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string what = "value " + std::to_string(i);
    SHOAL_TRY_VOID(expect_dtype(inputs[i], inputs[0].dtype, what));
    SHOAL_TRY_VOID(expect_rank(inputs[i], inputs[0].shape.rank(), what));
    SHOAL_TRY(const int64_t size, number_at(inputs[i], axis, what));
    if (with_size(inputs[i].shape, axis, 0) != with_size(inputs[0].shape, axis, 0)) {
      return invalid_argument(what + " " + to_string(inputs[i].shape) + " and value 0 " + to_string(inputs[0].shape) +
                              " may differ in size " + std::to_string(axis) + " only");
    }
    if (__builtin_add_overflow(sum, size, &sum)) return invalid_argument("the result has too many elements");
  }
  return std::vector{ValueType{inputs[0].dtype, with_size(inputs[0].shape, axis, sum)}};
}

std::vector<Value> concat_gradient(const GradientRequest& request) {
  const int64_t axis = request.node.attributes.get_int("axis");
  std::vector<int64_t> sizes;
  for (const Value& input : request.node.inputs) sizes.push_back(input.shape()[int(axis)].size());
  return request.graph.add("split", {request.output_gradients[0]}, {{"axis", axis}, {"sizes", std::move(sizes)}});
}

Outputs split_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(const int64_t axis, axis_attribute(attributes, inputs[0], "x"));
  SHOAL_TRY(const auto sizes, ints_attribute(attributes, "sizes"));
  SHOAL_TRY(const int64_t whole, number_at(inputs[0], axis, "x"));
  int64_t sum = 0;
  std::vector<ValueType> pieces;
  for (int64_t size : sizes) {
    if (size < 0 || size > whole - sum) {
      sum = -1;
      break;
    }
    sum += size;
    pieces.push_back({inputs[0].dtype, with_size(inputs[0].shape, axis, size)});
  }
  if (sum == whole && !pieces.empty() && pieces.size() <= size_t(kOperandsMax)) return pieces;
  return invalid_argument("the sizes of the pieces must not be negative and add up to the " + std::to_string(whole) +
                          " of x " + to_string(inputs[0].shape) + " along axis " + std::to_string(axis) + "; at most " +
                          std::to_string(kOperandsMax) + " pieces");
}

std::vector<Value> split_gradient(const GradientRequest& request) {
  std::vector<Value> pieces = request.output_gradients;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!pieces[i].valid()) pieces[i] = ops::fill_like(request.graph.constant(0.0f), request.outputs[i]);
  }
  return request.graph.add("concat", std::move(pieces), {{"axis", request.node.attributes.get_int("axis")}});
}

Result<Dim> sliced(const DimShape& shape, int axis, const ops::SliceRange& range) {
  auto refuse = [&](const std::string& why) {
    return invalid_argument("x " + to_string(shape) + ", axis " + std::to_string(axis) + ": " + why);
  };
  if (range.size == kWhole && range.begin == 0 && range.stride == 1) return shape[axis];
  if (shape[axis].is_symbol()) return refuse("a size that is a symbol can only be taken whole");
  const int64_t size = shape[axis].size();
  if (range.begin < 0 || range.size < 0 || range.stride < 1) return refuse("begin, size or stride is out of range");
  const bool inside = range.size == 0 ? range.begin <= size
                                      : range.begin < size && (range.size - 1) <= (size - 1 - range.begin) / range.stride;
  if (inside) return Dim(range.size);
  return refuse(std::to_string(range.size) + " elements from " + std::to_string(range.begin) + " by steps of " +
                std::to_string(range.stride) + " do not lie in it");
}

Result<DimShape> sliced_shape(const DimShape& shape, const Attributes& attributes) {
  const auto rank = size_t(shape.rank());
  SHOAL_TRY(const auto begins, ints_attribute(attributes, "begin", rank));
  SHOAL_TRY(const auto sizes, ints_attribute(attributes, "size", rank));
  SHOAL_TRY(const auto strides, ints_attribute(attributes, "stride", rank));
  std::vector<Dim> dims;
  for (size_t axis = 0; axis < rank; ++axis) {
    SHOAL_TRY(Dim dim, sliced(shape, int(axis), {begins[axis], sizes[axis], strides[axis]}));
    dims.push_back(std::move(dim));
  }
  return DimShape(std::move(dims));
}

Outputs slice_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(DimShape shape, sliced_shape(inputs[0].shape, attributes));
  return std::vector{ValueType{inputs[0].dtype, std::move(shape)}};
}

std::vector<Value> slice_gradient(const GradientRequest& request) {
  return request.graph.add("slice_grad", {request.output_gradients[0], request.node.inputs[0]}, request.node.attributes);
}

Outputs slice_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(DimShape shape, sliced_shape(inputs[1].shape, attributes));
  SHOAL_TRY_VOID(expect_float(inputs[0], "dy"));
  SHOAL_TRY_VOID(expect_equal_shapes(inputs[0], "dy", float_type(std::move(shape)), "the slice"));
  return std::vector{float_type(inputs[1].shape)};
}

Outputs pad_types(Types inputs, const Attributes& attributes) {
  const DimShape& shape = inputs[0].shape;
  const auto rank = size_t(shape.rank());
  if (!is_number(inputs[0].dtype)) return invalid_argument("x is " + describe(inputs[0]) + "; it cannot be padded");
  SHOAL_TRY(const auto before, ints_attribute(attributes, "before", rank));
  SHOAL_TRY(const auto after, ints_attribute(attributes, "after", rank));
  SHOAL_TRY_VOID(real_attribute(attributes, "value"));
  std::vector<Dim> dims = shape.dims();
  for (size_t axis = 0; axis < rank; ++axis) {
    if (before[axis] == 0 && after[axis] == 0) continue;
    int64_t size = 0;
    if (dims[axis].is_symbol() || before[axis] < 0 || after[axis] < 0 ||
        __builtin_add_overflow(dims[axis].size(), before[axis], &size) ||
        __builtin_add_overflow(size, after[axis], &size)) {
      return invalid_argument("x " + to_string(shape) + ", axis " + std::to_string(axis) + ": cannot add " +
                              std::to_string(before[axis]) + " and " + std::to_string(after[axis]) +
                              " elements; only sizes that are numbers grow, and only by 0 or more");
    }
    dims[axis] = size;
  }
  return std::vector{ValueType{inputs[0].dtype, DimShape(std::move(dims))}};
}

std::vector<Value> pad_gradient(const GradientRequest& request) {
  const auto& before = request.node.attributes.get_ints("before");
  const auto& after = request.node.attributes.get_ints("after");
  const DimShape& shape = request.node.inputs[0].shape();
  std::vector<int64_t> begins, sizes;
  for (size_t axis = 0; axis < before.size(); ++axis) {
    const bool padded = before[axis] != 0 || after[axis] != 0;
    begins.push_back(before[axis]);
    sizes.push_back(padded ? shape[int(axis)].size() : kWhole);
  }
  const std::vector<int64_t> strides(begins.size(), 1);
  return request.graph.add("slice", {request.output_gradients[0]},
                           {{"begin", begins}, {"size", sizes}, {"stride", strides}});
}

}  // namespace

void add_arrange_ops(const AddOp& add) {
  add({.name = "transpose",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = transpose_types,
       .gradient = transpose_gradient});
  add({.name = "concat",
       .inputs_min = 1,
       .inputs_max = kOperandsMax,
       .shape_rule = concat_types,
       .gradient = concat_gradient});
  add({.name = "split", .inputs_min = 1, .inputs_max = 1, .shape_rule = split_types, .gradient = split_gradient});
  add({.name = "slice",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = slice_types,
       .gradient = slice_gradient,
       .reads_a_part = true});
  add({.name = "slice_grad", .inputs_min = 2, .inputs_max = 2, .shape_rule = slice_grad_types, .shape_only = {1}});
  add({.name = "pad", .inputs_min = 1, .inputs_max = 1, .shape_rule = pad_types, .gradient = pad_gradient});
}

}  // namespace rules

namespace {

template <class T>
std::array<std::byte, 8> element_of(T value) {
  std::array<std::byte, 8> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <class T>
T nearest(double value) {
  if (std::isnan(value)) return 0;
  if (value <= double(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value >= double(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return T(value);
}

}  // namespace

std::array<std::byte, 8> padding_element(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat32: return element_of(float(value));
    case DType::kInt32: return element_of(nearest<int32_t>(value));
    case DType::kInt64: return element_of(nearest<int64_t>(value));
    case DType::kUInt8: return element_of(nearest<uint8_t>(value));
    case DType::kBool: return element_of(uint8_t(value != 0));
    default: SHOAL_CHECK(false);
  }
  return {};
}

namespace ops {

Value transpose(Value x, const std::vector<int>& permutation, std::string_view name) {
  Graph& graph = rules::graph_of("transpose", x);
  std::vector<int64_t> axes;
  for (int axis : permutation) axes.push_back(rules::resolve_axis("transpose", x, axis));
  return graph.add("transpose", {x}, {{"permutation", std::move(axes)}}, name)[0];
}

Value matrix_transpose(Value x, std::string_view name) {
  rules::graph_of("matrix_transpose", x);
  std::vector<int> permutation(size_t(x.rank()));
  std::iota(permutation.begin(), permutation.end(), 0);
  if (x.rank() < 2) raise(invalid_argument("matrix_transpose: x " + to_string(x.shape()) + " has no two axes to exchange"));
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return transpose(x, permutation, name);
}

Value concat(const std::vector<Value>& values, int axis, std::string_view name) {
  if (values.empty()) raise(invalid_argument("concat: no values were given"));
  Graph& graph = rules::graph_of("concat", values[0]);
  return graph.add("concat", values, {{"axis", rules::resolve_axis("concat", values[0], axis)}}, name)[0];
}

std::vector<Value> split(Value x, int axis, const std::vector<int64_t>& sizes, std::string_view name) {
  Graph& graph = rules::graph_of("split", x);
  return graph.add("split", {x}, {{"axis", rules::resolve_axis("split", x, axis)}, {"sizes", sizes}}, name);
}

Value slice(Value x, const std::vector<SliceRange>& ranges, std::string_view name) {
  Graph& graph = rules::graph_of("slice", x);
  const auto rank = size_t(x.rank());
  if (ranges.size() > rank) {
    raise(invalid_argument("slice: " + std::to_string(ranges.size()) + " ranges for x " + to_string(x.shape())));
  }
  std::vector<int64_t> begins(rank, 0), sizes(rank, rules::kWhole), strides(rank, 1);
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    const Dim& dim = x.shape()[int(axis)];
    SliceRange range = ranges[axis];
    if (!dim.is_symbol()) {
      if (range.begin < 0) range.begin += dim.size();
      const bool whole = range.begin == 0 && range.stride == 1;
      if (range.size == rules::kWhole && !whole && range.stride >= 1 && range.begin >= 0) {
        range.size = std::max<int64_t>(0, dim.size() - range.begin + range.stride - 1) / range.stride;
      }
    }
    begins[axis] = range.begin;
    sizes[axis] = range.size;
    strides[axis] = range.stride;
  }
  return graph.add("slice", {x}, {{"begin", begins}, {"size", sizes}, {"stride", strides}}, name)[0];
}

Value pad(Value x, const PadOptions& options, std::string_view name) {
  Graph& graph = rules::graph_of("pad", x);
  const auto rank = size_t(x.rank());
  if (options.ranges.size() > rank) {
    raise(invalid_argument("pad: " + std::to_string(options.ranges.size()) + " ranges for x " + to_string(x.shape())));
  }
  std::vector<int64_t> before(rank, 0), after(rank, 0);
  for (size_t axis = 0; axis < options.ranges.size(); ++axis) {
    before[axis] = options.ranges[axis].before;
    after[axis] = options.ranges[axis].after;
  }
  return graph.add("pad", {x}, {{"before", before}, {"after", after}, {"value", options.value}}, name)[0];
}

}  // namespace ops
}  // namespace shoal
