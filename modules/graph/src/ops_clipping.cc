// SPDX-License-Identifier: Apache-2.0
/// Clips elements, and computes the norm for clipping gradients.
#include "shoal/graph/ops_clipping.h"

#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

constexpr int kValuesMax = 65536;

Result<void> check_limits(const Attributes& attributes) {
  SHOAL_TRY(const double low, real_attribute(attributes, "low"));
  SHOAL_TRY(const double high, real_attribute(attributes, "high"));
  if (low <= high) return {};
  return invalid_argument("low is " + std::to_string(low) + ", high " + std::to_string(high) +
                          "; low must not be above high");
}

Outputs clip_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_float(inputs[0], "x"));
  SHOAL_TRY_VOID(check_limits(attributes));
  return std::vector{inputs[0]};
}

Outputs clip_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(check_limits(attributes));
  return elementwise_rule({"dy", "x"})(inputs, attributes);
}

Outputs global_norm_types(Types inputs, const Attributes&) {
  for (const ValueType& input : inputs) SHOAL_TRY_VOID(expect_float(input, "a value"));
  return std::vector{float_type({})};
}

std::vector<Value> clip_gradient(const GradientRequest& request) {
  return request.graph.add("clip_grad", {request.output_gradients[0], request.node.inputs[0]}, request.node.attributes);
}

/// dx = dy x / norm. Where the norm is 0, dx is 0, since no direction is better than another there.
std::vector<Value> global_norm_gradient(const GradientRequest& request) {
  const Value norm = request.outputs[0];
  const Value is_zero = ops::equal(norm, ops::scale(norm, 0));
  const Value factor = ops::div(request.output_gradients[0], ops::add(norm, is_zero));
  std::vector<Value> result(request.node.inputs.size());
  for (size_t i = 0; i < result.size(); ++i) {
    if (request.wanted[i]) result[i] = ops::mul(request.node.inputs[i], factor);
  }
  return result;
}

}  // namespace

void add_clipping_ops(const AddOp& add) {
  add({.name = "clip",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = clip_types,
       .gradient = clip_gradient,
       .in_place = {{0, 0}}});
  add({.name = "clip_grad", .inputs_min = 2, .inputs_max = 2, .shape_rule = clip_grad_types, .in_place = {{0, 0}, {0, 1}}});
  add({.name = "global_norm",
       .inputs_min = 1,
       .inputs_max = kValuesMax,
       .shape_rule = global_norm_types,
       .gradient = global_norm_gradient});
}

}  // namespace rules

namespace ops {

Value clip(Value x, double low, double high, std::string_view name) {
  return rules::graph_of("clip", x).add("clip", {x}, {{"low", low}, {"high", high}}, name)[0];
}
Value global_norm(const std::vector<Value>& values, std::string_view name) {
  if (values.empty()) raise(invalid_argument("global_norm: there are no values"));
  return rules::graph_of("global_norm", values[0]).add("global_norm", values, {}, name)[0];
}

}  // namespace ops
}  // namespace shoal
