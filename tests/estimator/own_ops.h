// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ops of a user's own: squash(x) = x / (1 + slope |x|), its gradient, and round(x), which has none.
#include <cmath>
#include <vector>

#include "shoal/graph/op.h"

namespace shoal::testing {

inline Result<std::vector<ValueType>> like_x(std::span<const ValueType> inputs, const Attributes&) {
  if (inputs[0].dtype != DType::kFloat32) return invalid_argument("x must be float32");
  return std::vector{inputs[0]};
}

inline OpDef squash(int64_t version = 1) {
  return {.name = "squash",
          .version = version,
          .inputs_min = 1,
          .inputs_max = 1,
          .attributes = {{"slope", 1.0}},
          .shape_rule = like_x,
          .gradient =
              [](const GradientRequest& request) {
                return request.graph.add("squash_grad", {request.output_gradients[0], request.node.inputs[0]},
                                         {{"slope", request.node.attributes.get_real("slope")}});
              },
          .in_place = {{0, 0}},
          .multiply_adds = [](const Attributes&, auto,
                              std::span<const TensorView> outputs) { return double(outputs[0].elements()); },
          .kernel = [](const OpCall& call) -> Result<void> {
            const auto slope = float(call.attributes.get_real("slope"));
            const auto x = call.inputs[0].as<float>();
            const auto y = call.outputs[0].as<float>();
            for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] / (1 + slope * std::fabs(x[i]));
            return {};
          }};
}

inline OpDef squash_grad() {
  return {.name = "squash_grad",
          .inputs_min = 2,
          .inputs_max = 2,
          .attributes = {{.name = "slope", .otherwise = 0.0, .required = true}},
          .shape_rule = like_x,
          .in_place = {{0, 0}},
          .kernel = [](const OpCall& call) -> Result<void> {
            const auto slope = float(call.attributes.get_real("slope"));
            const auto dy = call.inputs[0].as<float>();
            const auto x = call.inputs[1].as<float>();
            const auto dx = call.outputs[0].as<float>();
            for (size_t i = 0; i < dx.size(); ++i) {
              const float d = 1 + slope * std::fabs(x[i]);
              dx[i] = dy[i] / (d * d);
            }
            return {};
          }};
}

inline OpDef round_off() {
  return {.name = "round_off",
          .inputs_min = 1,
          .inputs_max = 1,
          .shape_rule = like_x,
          .kernel = [](const OpCall& call) -> Result<void> {
            const auto x = call.inputs[0].as<float>();
            const auto y = call.outputs[0].as<float>();
            for (size_t i = 0; i < y.size(); ++i) y[i] = std::nearbyint(x[i]);
            return {};
          }};
}

inline std::vector<OpDef> own_ops() { return {squash(), squash_grad(), round_off()}; }

}  // namespace shoal::testing
