// SPDX-License-Identifier: Apache-2.0
/// Element-wise ops: element i of the result depends only on elements i of the operands.
#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

std::vector<Value> relu_gradient(const GradientRequest& request) {
  return request.graph.add("relu_grad", {request.output_gradients[0], request.outputs[0]});
}

std::vector<Value> add_gradient(const GradientRequest& request) {
  const Value dy = request.output_gradients[0];
  const auto& inputs = request.node.inputs;
  return {request.wanted[0] ? sum_to(dy, inputs[0]) : Value(), request.wanted[1] ? sum_to(dy, inputs[1]) : Value()};
}

std::vector<Value> sub_gradient(const GradientRequest& request) {
  std::vector<Value> result = add_gradient(request);
  if (request.wanted[1]) result[1] = ops::scale(result[1], -1.0);
  return result;
}

std::vector<Value> mul_gradient(const GradientRequest& request) {
  const Value dy = request.output_gradients[0];
  const auto& inputs = request.node.inputs;
  return {request.wanted[0] ? sum_to(ops::mul(dy, inputs[1]), inputs[0]) : Value(),
          request.wanted[1] ? sum_to(ops::mul(dy, inputs[0]), inputs[1]) : Value()};
}

std::vector<Value> scale_gradient(const GradientRequest& request) {
  return {ops::scale(request.output_gradients[0], request.node.attributes.get_real("factor"))};
}

std::vector<Value> square_gradient(const GradientRequest& request) {
  return {ops::scale(ops::mul(request.output_gradients[0], request.node.inputs[0]), 2.0)};
}

float sum(std::span<const float> x, const Attributes&) { return x[0] + x[1]; }
float difference(std::span<const float> x, const Attributes&) { return x[0] - x[1]; }
float product(std::span<const float> x, const Attributes&) { return x[0] * x[1]; }
float squared(std::span<const float> x, const Attributes&) { return x[0] * x[0]; }
float scaled(std::span<const float> x, const Attributes& attributes) { return x[0] * float(attributes.get_real("factor")); }
bool scales_by_one(const Attributes& attributes) { return attributes.get_real("factor") == 1.0; }

Outputs scale_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_float(inputs[0], "x"));
  SHOAL_TRY_VOID(real_attribute(attributes, "factor"));
  return std::vector{inputs[0]};
}

}  // namespace

void add_elementwise_ops(const AddOp& add) {
  const std::vector<OpDef::InPlace> over_first{{0, 0}};
  const std::vector<OpDef::InPlace> over_either{{0, 0}, {0, 1}};
  auto unary = [&](std::string name, ShapeRule rule, GradientRule gradient, const Rewrites& rewrites) {
    add({.name = std::move(name),
         .inputs_min = 1,
         .inputs_max = 1,
         .shape_rule = std::move(rule),
         .gradient = std::move(gradient),
         .in_place = over_first,
         .rewrites = rewrites});
  };
  auto binary = [&](std::string name, ShapeRule rule, GradientRule gradient, const Rewrites& rewrites) {
    add({.name = std::move(name),
         .inputs_min = 2,
         .inputs_max = 2,
         .shape_rule = std::move(rule),
         .gradient = std::move(gradient),
         .in_place = over_either,
         .rewrites = rewrites});
  };
  unary("relu", elementwise_rule({"x"}), relu_gradient, {.idempotent = true, .activation = "relu", .after_maxima = true});
  unary("scale", scale_types, scale_gradient, {.changes_nothing = scales_by_one, .of_constants = scaled});
  unary("square", elementwise_rule({"x"}), square_gradient, {.of_constants = squared});
  binary("relu_grad", elementwise_rule({"dy", "y"}), {}, {.mask = true});
  binary("add", broadcast_types, add_gradient, {.of_constants = sum, .addition = true});
  binary("sub", broadcast_types, sub_gradient, {.of_constants = difference});
  binary("mul", broadcast_types, mul_gradient, {.of_constants = product});
}

}  // namespace rules

namespace ops {

Value relu(Value x, std::string_view name) { return rules::graph_of("relu", x).add("relu", {x}, {}, name)[0]; }
Value add(Value a, Value b, std::string_view name) { return rules::graph_of("add", a).add("add", {a, b}, {}, name)[0]; }
Value sub(Value a, Value b, std::string_view name) { return rules::graph_of("sub", a).add("sub", {a, b}, {}, name)[0]; }
Value mul(Value a, Value b, std::string_view name) { return rules::graph_of("mul", a).add("mul", {a, b}, {}, name)[0]; }
Value scale(Value x, double factor, std::string_view name) {
  return rules::graph_of("scale", x).add("scale", {x}, {{"factor", factor}}, name)[0];
}
Value square(Value x, std::string_view name) { return rules::graph_of("square", x).add("square", {x}, {}, name)[0]; }

}  // namespace ops

Value operator+(Value a, Value b) { return ops::add(a, b); }
Value operator-(Value a, Value b) { return ops::sub(a, b); }
Value operator*(Value a, Value b) { return ops::mul(a, b); }
Value operator*(Value x, double factor) { return ops::scale(x, factor); }
Value operator*(double factor, Value x) { return ops::scale(x, factor); }
Value operator-(Value x) { return ops::scale(x, -1.0); }

}  // namespace shoal
