// SPDX-License-Identifier: Apache-2.0
#include "shape_rules.h"

#include <algorithm>

#include "shoal/graph/named_inputs.h"
#include "shoal/graph/ops_reduce.h"

namespace shoal::rules {

std::string describe(const ValueType& type) { return std::string(to_string(type.dtype)) + " " + to_string(type.shape); }

bool is_integer(DType dtype) {
  return dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kUInt8 || dtype == DType::kBool;
}

Result<void> expect_dtype(const ValueType& type, DType dtype, std::string_view what) {
  if (type.dtype == dtype) return {};
  return invalid_argument(std::string(what) + " is " + describe(type) + "; it must be " + std::string(to_string(dtype)));
}

Result<void> expect_rank(const ValueType& type, int rank, std::string_view what) {
  if (type.shape.rank() == rank) return {};
  return invalid_argument(std::string(what) + " is " + describe(type) + "; it must have " + std::to_string(rank) +
                          (rank == 1 ? " dimension" : " dimensions"));
}

Result<void> expect_rank_min(const ValueType& type, int rank, std::string_view what) {
  if (type.shape.rank() >= rank) return {};
  return invalid_argument(std::string(what) + " is " + describe(type) + "; it must have at least " + std::to_string(rank) +
                          (rank == 1 ? " dimension" : " dimensions"));
}

Result<void> expect_float_rank(const ValueType& type, int rank, std::string_view what) {
  SHOAL_TRY_VOID(expect_float(type, what));
  return expect_rank(type, rank, what);
}

Result<void> expect_equal_shapes(const ValueType& a, std::string_view a_name, const ValueType& b, std::string_view b_name) {
  if (a.shape == b.shape) return {};
  return invalid_argument(std::string(a_name) + " " + to_string(a.shape) + " and " + std::string(b_name) + " " +
                          to_string(b.shape) + " must have equal shapes");
}

bool broadcasts_to(const DimShape& from, const DimShape& to) {
  const int missing = to.rank() - from.rank();
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (missing < 0 || (from[axis] != to[axis + missing] && from[axis] != Dim(1))) return false;
  }
  return true;
}

Result<DimShape> broadcast_shape(const ValueType& a, std::string_view a_name, const ValueType& b, std::string_view b_name) {
  const bool a_longer = a.shape.rank() >= b.shape.rank();
  const std::vector<Dim>& longer = (a_longer ? a : b).shape.dims();
  const DimShape& other = (a_longer ? b : a).shape;
  std::vector<Dim> dims = longer;
  const size_t missing = dims.size() - size_t(other.rank());
  const Dim* twice = nullptr;  // A symbol of both operands that comes to lie on two axes.
  for (int axis = 0; axis < other.rank(); ++axis) {
    Dim& dim = dims[size_t(axis) + missing];
    if (dim == Dim(1)) {
      dim = other[axis];
      if (missing > 0 && dim.is_symbol() && std::ranges::find(longer, dim) != longer.end()) twice = &other[axis];
    } else if (dim != other[axis] && other[axis] != Dim(1)) {
      return invalid_argument(std::string(a_name) + " " + to_string(a.shape) + " and " + std::string(b_name) + " " +
                              to_string(b.shape) + " do not broadcast: from the last axis on, sizes must be equal or 1");
    }
  }
  DimShape shape(std::move(dims));
  if (twice == nullptr) return shape;
  return invalid_argument(std::string(a_name) + " " + to_string(a.shape) + " and " + std::string(b_name) + " " +
                          to_string(b.shape) + " would broadcast to " + to_string(shape) + ", with " + twice->name() +
                          " on two axes. Reshape one so that both have the same rank: ops::reshape(x, {-1, 1}) makes [" +
                          twice->name() + ", 1] of [" + twice->name() +
                          "]; if a matrix of all pairs is wanted, ops::reshape(x, {1, -1}) makes [1, " + twice->name() +
                          "]");
}

namespace {

struct Factors {
  int64_t number = 1;
  std::vector<std::string> symbols;
  friend bool operator==(const Factors&, const Factors&) = default;
};

Factors factors_of(const DimShape& shape) {
  Factors factors;
  for (const Dim& dim : shape.dims()) {
    if (dim.is_symbol()) {
      factors.symbols.push_back(dim.name());
    } else if (__builtin_mul_overflow(factors.number, dim.size(), &factors.number)) {
      factors.number = -1;
    }
  }
  std::sort(factors.symbols.begin(), factors.symbols.end());
  return factors;
}

template <class T>
Result<T> attribute(const Attributes& attributes, std::string_view name, std::string_view type) {
  const auto found = attributes.values().find(name);
  if (found == attributes.values().end()) return invalid_argument("attribute \"" + std::string(name) + "\" is missing");
  const T* value = std::get_if<T>(&found->second);
  if (!value) return invalid_argument("attribute \"" + std::string(name) + "\" must be " + std::string(type));
  return *value;
}

}  // namespace

bool same_elements(const DimShape& a, const DimShape& b) { return factors_of(a) == factors_of(b); }

Result<std::vector<int64_t>> ints_attribute(const Attributes& attributes, std::string_view name) {
  return attribute<std::vector<int64_t>>(attributes, name, "a list of integers");
}

Result<std::vector<int64_t>> ints_attribute(const Attributes& attributes, std::string_view name, size_t count) {
  SHOAL_TRY(auto values, ints_attribute(attributes, name));
  if (values.size() == count) return values;
  return invalid_argument("attribute \"" + std::string(name) + "\" must have " + std::to_string(count) + " integers, not " +
                          std::to_string(values.size()));
}

Result<int64_t> int_attribute(const Attributes& attributes, std::string_view name) {
  return attribute<int64_t>(attributes, name, "an integer");
}

Result<double> real_attribute(const Attributes& attributes, std::string_view name) {
  return attribute<double>(attributes, name, "a real number");
}

Result<std::string> string_attribute(const Attributes& attributes, std::string_view name) {
  return attribute<std::string>(attributes, name, "a string");
}

Result<bool> bool_attribute(const Attributes& attributes, std::string_view name) {
  return attribute<bool>(attributes, name, "true or false");
}

std::vector<Value> add_named(Graph& graph, std::string_view op, const NamedInputs& inputs, Attributes attributes,
                             std::string_view name) {
  std::vector<Value> values;
  std::string list;
  for (const auto& [input, value] : inputs) {
    if (!value.valid()) continue;
    values.push_back(value);
    if (!list.empty()) list += ' ';
    list += input;
  }
  attributes.set("inputs", std::move(list));
  return graph.add(op, std::move(values), std::move(attributes), name);
}

Result<void> expect_named_inputs(const Attributes& attributes, size_t count,
                                 std::initializer_list<std::string_view> required,
                                 std::initializer_list<std::string_view> optional) {
  SHOAL_TRY(const std::string list, string_attribute(attributes, "inputs"));
  std::string expected;  // What the attribute "inputs" should be: the names of the inputs, in the right order.
  size_t named = 0;
  auto take = [&](std::string_view name) {
    expected += expected.empty() ? "" : " ";
    expected += name;
    ++named;
  };
  for (std::string_view name : required) {
    if (find_input(attributes, name) < 0) return invalid_argument("the input " + std::string(name) + " is missing");
    take(name);
  }
  for (std::string_view name : optional) {
    if (find_input(attributes, name) >= 0) take(name);
  }
  if (list == expected && named == count) return {};
  return invalid_argument("attribute \"inputs\" is \"" + list + "\" for " + std::to_string(count) +
                          " inputs; in the right order, each once, they are \"" + expected + "\"");
}

Result<void> expect_lengths(const ValueType& lengths, const Dim& n) {
  SHOAL_TRY_VOID(expect_dtype(lengths, DType::kInt64, "lengths"));
  SHOAL_TRY_VOID(expect_rank(lengths, 1, "lengths"));
  if (lengths.shape[0] == n) return {};
  return invalid_argument("lengths " + to_string(lengths.shape) + " must have one element for each of the " + to_string(n) +
                          " sequences");
}

Outputs broadcast_types(Types inputs, const Attributes&) {
  SHOAL_TRY_VOID(expect_float(inputs[0], "a"));
  SHOAL_TRY_VOID(expect_float(inputs[1], "b"));
  SHOAL_TRY(DimShape shape, broadcast_shape(inputs[0], "a", inputs[1], "b"));
  return std::vector{float_type(std::move(shape))};
}

ShapeRule elementwise_rule(std::vector<std::string> names) {
  return [names = std::move(names)](Types inputs, const Attributes&) -> Outputs {
    for (size_t i = 0; i < inputs.size(); ++i) {
      SHOAL_TRY_VOID(expect_float(inputs[i], names[i]));
      if (i > 0) SHOAL_TRY_VOID(expect_equal_shapes(inputs[0], names[0], inputs[i], names[i]));
    }
    return std::vector{inputs[0]};
  };
}

Result<Sliding> slide(const ValueType& image, int64_t window_height, int64_t window_width, const Attributes& attributes) {
  if (image.shape[1].is_symbol() || image.shape[2].is_symbol()) {
    return invalid_argument("x " + to_string(image.shape) + ": height and width must be numbers, not symbols");
  }
  SHOAL_TRY(const auto strides, ints_attribute(attributes, "strides", 2));
  SHOAL_TRY(const auto padding, ints_attribute(attributes, "padding", 4));
  auto count = [&](int axis, int64_t window) -> Result<int64_t> {
    const size_t first = axis == 1 ? 0 : 2;
    auto result =
        window_count(image.shape[axis].size(), window, strides[size_t(axis) - 1], {padding[first], padding[first + 1]});
    if (result) return result;
    return std::move(result).error().with_context("x " + to_string(image.shape) + (axis == 1 ? ", height" : ", width"));
  };
  SHOAL_TRY(const int64_t out_height, count(1, window_height));
  SHOAL_TRY(const int64_t out_width, count(2, window_width));
  return Sliding{out_height, out_width};
}

std::vector<int64_t> resolve_padding(std::string_view op, Value image, std::array<int64_t, 2> window,
                                     std::array<int64_t, 2> strides, const Padding& padding) {
  if (padding.kind == Padding::Kind::kValid) return {0, 0, 0, 0};
  if (padding.kind == Padding::Kind::kExplicit) return {padding.sizes.begin(), padding.sizes.end()};
  const DimShape& shape = image.shape();
  if (shape.rank() != 4 || shape[1].is_symbol() || shape[2].is_symbol()) {
    raise(invalid_argument(std::string(op) +
                           ": same padding needs an image [N, H, W, C] whose height and width are numbers, not " +
                           to_string(shape)));
  }
  if (strides[0] < 1 || strides[1] < 1) raise(invalid_argument(std::string(op) + ": strides must be at least 1"));
  const AxisPadding rows = same_padding(shape[1].size(), window[0], strides[0]);
  const AxisPadding columns = same_padding(shape[2].size(), window[1], strides[1]);
  return {rows.before, rows.after, columns.before, columns.after};
}

Value sum_to(Value gradient, Value operand) {
  return gradient.shape() == operand.shape() ? gradient : ops::sum_like(gradient, operand);
}

int64_t resolve_axis(std::string_view op, Value x, int axis) {
  graph_of(op, x);  // Checks that x is valid.
  const int rank = x.rank();
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  raise(invalid_argument(std::string(op) + ": " + to_string(x.shape()) + " has no axis " + std::to_string(axis)));
}

Graph& graph_of(std::string_view op, Value x) {
  if (!x.valid()) raise(invalid_argument(std::string(op) + ": operand 0 is an invalid Value"));
  return x.graph();
}

}  // namespace shoal::rules
