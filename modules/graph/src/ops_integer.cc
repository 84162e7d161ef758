// SPDX-License-Identifier: Apache-2.0
/// Ops with integer operands or results: predictions, conversions.
#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

/// A node has the attribute "axis" only if argmax() is not taken along the last axis.
Outputs argmax_types(Types inputs, const Attributes& attributes) {
  const DimShape& shape = inputs[0].shape;
  SHOAL_TRY_VOID(expect_float(inputs[0], "x"));
  SHOAL_TRY_VOID(expect_rank_min(inputs[0], 1, "x"));
  int64_t axis = shape.rank() - 1;
  if (attributes.has("axis")) {
    SHOAL_TRY(axis, int_attribute(attributes, "axis"));
    if (axis < 0 || axis >= shape.rank()) {
      return invalid_argument("x " + to_string(shape) + " has no axis " + std::to_string(axis));
    }
  }
  if (!shape[int(axis)].is_symbol() && shape[int(axis)].size() == 0) {
    return invalid_argument("x " + to_string(shape) + " has no element along axis " + std::to_string(axis));
  }
  std::vector<Dim> dims = shape.dims();
  dims.erase(dims.begin() + axis);
  return std::vector{ValueType{DType::kInt64, DimShape(std::move(dims))}};
}

Outputs cast_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(const std::string name, string_attribute(attributes, "dtype"));
  const auto dtype = dtype_from_string(name);
  if (!dtype || !is_number(*dtype) || !is_number(inputs[0].dtype)) {
    return invalid_argument("cannot cast " + describe(inputs[0]) + " to \"" + name + "\"");
  }
  return std::vector{ValueType{*dtype, inputs[0].shape}};
}

/// Called only if both types are float32.
std::vector<Value> cast_gradient(const GradientRequest& request) { return {request.output_gradients[0]}; }

}  // namespace

void add_integer_ops(const AddOp& add) {
  add({.name = "argmax", .inputs_min = 1, .inputs_max = 1, .shape_rule = argmax_types});
  add({.name = "cast", .inputs_min = 1, .inputs_max = 1, .shape_rule = cast_types, .gradient = cast_gradient});
}

}  // namespace rules

namespace ops {

Value argmax(Value x, std::string_view name) { return rules::graph_of("argmax", x).add("argmax", {x}, {}, name)[0]; }
Value argmax(Value x, int axis, std::string_view name) {
  const int64_t resolved = rules::resolve_axis("argmax", x, axis);
  if (resolved == x.rank() - 1) return argmax(x, name);
  return x.graph().add("argmax", {x}, {{"axis", resolved}}, name)[0];
}
Value cast(Value x, DType dtype, std::string_view name) {
  return rules::graph_of("cast", x).add("cast", {x}, {{"dtype", std::string(to_string(dtype))}}, name)[0];
}

}  // namespace ops
}  // namespace shoal
