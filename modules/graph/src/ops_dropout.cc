// SPDX-License-Identifier: Apache-2.0
/// Dropout. The gradient is the same op with the same key, so the mask is computed twice rather than kept in memory.
#include <algorithm>
#include <cmath>

#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

Outputs dropout_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_float(inputs[0], "x"));
  SHOAL_TRY(const double rate, real_attribute(attributes, "rate"));
  if (rate >= 0 && rate < 1) return std::vector{inputs[0]};
  return invalid_argument("rate " + std::to_string(rate) + " is outside [0, 1)");
}

std::vector<Value> dropout_gradient(const GradientRequest& request) {
  return request.graph.add("dropout", {request.output_gradients[0]}, request.node.attributes);
}

}  // namespace

void add_dropout_ops(const AddOp& add) {
  add({.name = "dropout",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = dropout_types,
       .gradient = dropout_gradient,
       .in_place = {{0, 0}},
       .random = true});
}

}  // namespace rules

uint32_t dropout_threshold(double rate) { return uint32_t(std::min(std::round(rate * 4294967296.0), 4294967295.0)); }

float dropout_scale(double rate) { return float(1.0 / (1.0 - rate)); }

namespace ops {

Value dropout(Value x, double rate, std::string_view name) {
  return rules::graph_of("dropout", x).add("dropout", {x}, {{"rate", rate}}, name)[0];
}

}  // namespace ops
}  // namespace shoal
