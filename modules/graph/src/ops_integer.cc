/// Ops that give or take integers: predictions, conversions.
#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

bool is_integer(DType dtype) {
  return dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kUInt8 || dtype == DType::kBool;
}

Outputs argmax_types(Types inputs, const Attributes&) {
  SHOAL_TRY_VOID(expect_float(inputs[0], "x"));
  SHOAL_TRY_VOID(expect_rank_min(inputs[0], 1, "x"));
  std::vector<Dim> dims = inputs[0].shape.dims();
  if (!dims.back().is_symbol() && dims.back().size() == 0) {
    return invalid_argument("x " + to_string(inputs[0].shape) + " has no element along the last axis");
  }
  dims.pop_back();
  return std::vector{ValueType{DType::kInt64, DimShape(std::move(dims))}};
}

Outputs cast_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(const std::string name, string_attribute(attributes, "dtype"));
  auto can_cast = [](DType dtype) { return dtype == DType::kFloat32 || is_integer(dtype); };
  const auto dtype = dtype_from_string(name);
  if (!dtype || !can_cast(*dtype) || !can_cast(inputs[0].dtype)) {
    return invalid_argument("cannot cast " + describe(inputs[0]) + " to \"" + name + "\"");
  }
  return std::vector{ValueType{*dtype, inputs[0].shape}};
}

/// Asked for only where both sides are float32.
std::vector<Value> cast_gradient(const GradientRequest& request) { return {request.output_gradients[0]}; }

}  // namespace

void add_integer_ops(const AddOp& add) {
  add({.name = "argmax", .inputs_min = 1, .inputs_max = 1, .shape_rule = argmax_types});
  add({.name = "cast", .inputs_min = 1, .inputs_max = 1, .shape_rule = cast_types, .gradient = cast_gradient});
}

}  // namespace rules

namespace ops {

Value argmax(Value x, std::string_view name) { return rules::graph_of("argmax", x).add("argmax", {x}, {}, name)[0]; }
Value cast(Value x, DType dtype, std::string_view name) {
  return rules::graph_of("cast", x).add("cast", {x}, {{"dtype", std::string(to_string(dtype))}}, name)[0];
}

}  // namespace ops
}  // namespace shoal
