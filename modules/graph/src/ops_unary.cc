// SPDX-License-Identifier: Apache-2.0
/// Functions of one operand, element by element. If a derivative can be computed from the function's value, the gradient
/// uses that value, so that the operand need not be kept.
#include <cmath>

#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

/// dx = slope(dy, v), where v is the output of the op if kFromOutput is true, else the input.
template <bool kFromOutput>
GradientRule slope_rule(std::string op) {
  return [op = std::move(op)](const GradientRequest& request) {
    const Value v = kFromOutput ? request.outputs[0] : request.node.inputs[0];
    return request.graph.add(op, {request.output_gradients[0], v}, request.node.attributes);
  };
}

std::vector<Value> exp_gradient(const GradientRequest& request) {
  return {ops::mul(request.output_gradients[0], request.outputs[0])};
}

std::vector<Value> log_gradient(const GradientRequest& request) {
  return {ops::div(request.output_gradients[0], request.node.inputs[0])};
}

/// dx = dy / (2 y).
std::vector<Value> sqrt_gradient(const GradientRequest& request) {
  return {ops::scale(ops::div(request.output_gradients[0], request.outputs[0]), 0.5)};
}

/// dx = -dy y^3 / 2.
std::vector<Value> rsqrt_gradient(const GradientRequest& request) {
  const Value y = request.outputs[0];
  return {ops::scale(ops::mul(request.output_gradients[0], ops::mul(ops::square(y), y)), -0.5)};
}

/// dx = -dy y^2.
std::vector<Value> reciprocal_gradient(const GradientRequest& request) {
  return {ops::scale(ops::mul(request.output_gradients[0], ops::square(request.outputs[0])), -1.0)};
}

/// dx = dy 2 / sqrt(pi) e^-x^2.
std::vector<Value> erf_gradient(const GradientRequest& request) {
  const Value bell = ops::exp(ops::scale(ops::square(request.node.inputs[0]), -1.0));
  return {ops::scale(ops::mul(request.output_gradients[0], bell), 2 / std::sqrt(std::acos(-1.0)))};
}

/// dx = dy cos x.
std::vector<Value> sin_gradient(const GradientRequest& request) {
  return {ops::mul(request.output_gradients[0], ops::cos(request.node.inputs[0]))};
}

/// dx = -dy sin x.
std::vector<Value> cos_gradient(const GradientRequest& request) {
  return {ops::scale(ops::mul(request.output_gradients[0], ops::sin(request.node.inputs[0])), -1.0)};
}

/// Checks the attribute "alpha", the slope below 0. It is not negative, so that the sign of the output is that of the
/// operand.
Result<void> expect_alpha(const Attributes& attributes) {
  SHOAL_TRY(const double alpha, real_attribute(attributes, "alpha"));
  if (alpha >= 0 && std::isfinite(alpha)) return {};
  return invalid_argument("alpha is " + std::to_string(alpha) + "; it must be a finite number >= 0");
}

Outputs alpha_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_alpha(attributes));
  return elementwise_rule({"x"})(inputs, attributes);
}

Outputs alpha_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_alpha(attributes));
  return elementwise_rule({"dy", "y"})(inputs, attributes);
}

}  // namespace

void add_unary_ops(const AddOp& add) {
  auto unary = [&](std::string name, GradientRule gradient, ShapeRule rule = elementwise_rule({"x"})) {
    add({.name = std::move(name),
         .inputs_min = 1,
         .inputs_max = 1,
         .shape_rule = std::move(rule),
         .gradient = std::move(gradient),
         .in_place = {{0, 0}}});
  };
  auto slope = [&](std::string name, ShapeRule rule) {
    add({.name = std::move(name),
         .inputs_min = 2,
         .inputs_max = 2,
         .shape_rule = std::move(rule),
         .in_place = {{0, 0}, {0, 1}}});
  };
  unary("exp", exp_gradient);
  unary("log", log_gradient);
  unary("sqrt", sqrt_gradient);
  unary("rsqrt", rsqrt_gradient);
  unary("reciprocal", reciprocal_gradient);
  unary("erf", erf_gradient);
  unary("sin", sin_gradient);
  unary("cos", cos_gradient);
  for (const char* name : {"sigmoid", "tanh", "softplus"}) {
    unary(name, slope_rule<true>(std::string(name) + "_grad"));
    slope(std::string(name) + "_grad", elementwise_rule({"dy", "y"}));
  }
  for (const char* name : {"leaky_relu", "elu"}) {
    unary(name, slope_rule<true>(std::string(name) + "_grad"), alpha_types);
    slope(std::string(name) + "_grad", alpha_grad_types);
  }
  for (const char* name : {"abs", "gelu", "gelu_tanh", "silu"}) {
    unary(name, slope_rule<false>(std::string(name) + "_grad"));
    slope(std::string(name) + "_grad", elementwise_rule({"dy", "x"}));
  }
}

}  // namespace rules

namespace ops {
namespace {

Value add_unary(const char* op, Value x, std::string_view name, Attributes attributes = {}) {
  return rules::graph_of(op, x).add(op, {x}, std::move(attributes), name)[0];
}

}  // namespace

Value exp(Value x, std::string_view name) { return add_unary("exp", x, name); }
Value log(Value x, std::string_view name) { return add_unary("log", x, name); }
Value sqrt(Value x, std::string_view name) { return add_unary("sqrt", x, name); }
Value rsqrt(Value x, std::string_view name) { return add_unary("rsqrt", x, name); }
Value abs(Value x, std::string_view name) { return add_unary("abs", x, name); }
Value neg(Value x, std::string_view name) { return scale(x, -1.0, name); }
Value reciprocal(Value x, std::string_view name) { return add_unary("reciprocal", x, name); }
Value erf(Value x, std::string_view name) { return add_unary("erf", x, name); }
Value sin(Value x, std::string_view name) { return add_unary("sin", x, name); }
Value cos(Value x, std::string_view name) { return add_unary("cos", x, name); }
Value sigmoid(Value x, std::string_view name) { return add_unary("sigmoid", x, name); }
Value tanh(Value x, std::string_view name) { return add_unary("tanh", x, name); }
Value softplus(Value x, std::string_view name) { return add_unary("softplus", x, name); }
Value leaky_relu(Value x, double alpha, std::string_view name) {
  return add_unary("leaky_relu", x, name, {{"alpha", alpha}});
}
Value elu(Value x, double alpha, std::string_view name) { return add_unary("elu", x, name, {{"alpha", alpha}}); }
Value gelu(Value x, GeluForm form, std::string_view name) {
  return add_unary(form == GeluForm::kTanh ? "gelu_tanh" : "gelu", x, name);
}
Value silu(Value x, std::string_view name) { return add_unary("silu", x, name); }

}  // namespace ops
}  // namespace shoal
