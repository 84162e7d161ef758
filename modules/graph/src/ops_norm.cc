// SPDX-License-Identifier: Apache-2.0
/// Normalization. Forward ops also return the values that their gradients need: mean and 1 / sqrt(variance + epsilon).
#include <cmath>

#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

Result<double> epsilon_of(const Attributes& attributes) {
  SHOAL_TRY(const double epsilon, real_attribute(attributes, "epsilon"));
  if (epsilon > 0 && std::isfinite(epsilon)) return epsilon;
  return invalid_argument("epsilon is " + std::to_string(epsilon) + "; it must be a finite number above 0");
}

/// Checks that `type` is float32 [C], one number for each channel of x.
Result<void> expect_per_channel(const ValueType& type, const ValueType& x, std::string_view what) {
  SHOAL_TRY_VOID(expect_float_rank(type, 1, what));
  if (type.shape[0] == x.shape.dims().back()) return {};
  return invalid_argument(std::string(what) + " " + to_string(type.shape) +
                          " must have one element for each channel of x " + to_string(x.shape));
}

Result<void> expect_normalized(const ValueType& x, int rank_min, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_float(x, "x"));
  SHOAL_TRY_VOID(expect_rank_min(x, rank_min, "x"));
  SHOAL_TRY_VOID(epsilon_of(attributes));
  if (!x.shape.dims().back().is_symbol()) return {};
  return invalid_argument("x " + to_string(x.shape) + ": the number of channels must be a number, not a symbol");
}

/// Checks the operands x, scale and shift.
Result<void> expect_operands(Types inputs, int rank_min, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_normalized(inputs[0], rank_min, attributes));
  SHOAL_TRY_VOID(expect_per_channel(inputs[1], inputs[0], "scale"));
  return expect_per_channel(inputs[2], inputs[0], "shift");
}

/// Checks the operands dy, x and scale.
Result<void> expect_gradient_operands(Types inputs, int rank_min, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_normalized(inputs[1], rank_min, attributes));
  SHOAL_TRY_VOID(expect_float(inputs[0], "dy"));
  SHOAL_TRY_VOID(expect_equal_shapes(inputs[0], "dy", inputs[1], "x"));
  return expect_per_channel(inputs[2], inputs[1], "scale");
}

/// The types of dx, dscale and dshift.
Outputs gradient_types(const ValueType& x, const ValueType& scale) { return std::vector{x, scale, scale}; }

// Batch normalization. The attribute "activation" says whether a relu is fused. A fourth input, if present, is added to
// the result before the relu.

Outputs batch_norm_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_operands(inputs, 2, attributes));
  SHOAL_TRY_VOID(expect_activation(attributes));
  if (inputs.size() > 3) {
    SHOAL_TRY_VOID(expect_float(inputs[3], "addend"));
    SHOAL_TRY_VOID(expect_equal_shapes(inputs[3], "addend", inputs[0], "x"));
  }
  const ValueType& per_channel = inputs[1];
  return std::vector{inputs[0], per_channel, per_channel, per_channel};
}

Outputs batch_norm_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_gradient_operands(inputs, 2, attributes));
  SHOAL_TRY_VOID(expect_per_channel(inputs[3], inputs[1], "mean"));
  SHOAL_TRY_VOID(expect_per_channel(inputs[4], inputs[1], "inverse deviation"));
  if (inputs.size() > 5) {
    SHOAL_TRY_VOID(expect_float(inputs[5], "y"));
    SHOAL_TRY_VOID(expect_equal_shapes(inputs[5], "y", inputs[1], "x"));
  }
  return gradient_types(inputs[1], inputs[2]);
}

std::vector<Value> batch_norm_gradient(const GradientRequest& request) {
  const auto& inputs = request.node.inputs;
  const auto& dy = request.output_gradients;
  if (dy[1].valid() || dy[2].valid() || dy[3].valid()) {
    raise(invalid_argument("batch_norm \"" + request.node.name +
                           "\": the loss depends on its mean or variance, which have no gradient"));
  }
  const Value dx = before_activation(request);
  auto result = request.graph.add("batch_norm_grad", {dx, inputs[0], inputs[1], request.outputs[1], request.outputs[3]},
                                  {{"epsilon", request.node.attributes.get_real("epsilon")}});
  if (inputs.size() > 3) result.push_back(dx);
  return result;
}

Outputs batch_norm_inference_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_operands(inputs, 2, attributes));
  SHOAL_TRY_VOID(expect_activation(attributes));
  SHOAL_TRY_VOID(expect_per_channel(inputs[3], inputs[0], "mean"));
  SHOAL_TRY_VOID(expect_per_channel(inputs[4], inputs[0], "variance"));
  return std::vector{inputs[0]};
}

Outputs batch_norm_inference_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_gradient_operands(inputs, 2, attributes));
  SHOAL_TRY_VOID(expect_per_channel(inputs[3], inputs[1], "mean"));
  SHOAL_TRY_VOID(expect_per_channel(inputs[4], inputs[1], "variance"));
  return gradient_types(inputs[1], inputs[2]);
}

std::vector<Value> batch_norm_inference_gradient(const GradientRequest& request) {
  const auto& inputs = request.node.inputs;
  auto result = request.graph.add("batch_norm_inference_grad",
                                  {before_activation(request), inputs[0], inputs[1], inputs[3], inputs[4]},
                                  {{"epsilon", request.node.attributes.get_real("epsilon")}});
  result.resize(inputs.size());  // The last two inputs, mean and variance, get no gradient.
  return result;
}

// Layer and group normalization.

/// The type of the mean (and of 1 / standard deviation) that layer_norm keeps for its gradient: one number per row.
ValueType per_row(const ValueType& x) {
  return float_type(DimShape(std::vector<Dim>(x.shape.dims().begin(), x.shape.dims().end() - 1)));
}

Outputs layer_norm_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_operands(inputs, 1, attributes));
  if (inputs[0].shape.dims().back() == Dim(0)) {
    return invalid_argument("x " + to_string(inputs[0].shape) + " has no element along the last axis");
  }
  return std::vector{inputs[0], per_row(inputs[0]), per_row(inputs[0])};
}

Outputs layer_norm_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_gradient_operands(inputs, 1, attributes));
  for (size_t i : {size_t(3), size_t(4)}) {
    const char* what = i == 3 ? "mean" : "inverse deviation";
    SHOAL_TRY_VOID(expect_float(inputs[i], what));
    SHOAL_TRY_VOID(expect_equal_shapes(inputs[i], what, per_row(inputs[1]), "the rows of x"));
  }
  return gradient_types(inputs[1], inputs[2]);
}

/// The type of the mean (and of 1 / standard deviation) that group_norm keeps for its gradient: [n, groups].
Result<ValueType> per_group(const ValueType& x, const Attributes& attributes) {
  for (int axis = 1; axis < x.shape.rank(); ++axis) {
    if (!x.shape[axis].is_symbol() && x.shape[axis].size() > 0) continue;
    return invalid_argument("x " + to_string(x.shape) + ": all sizes but the first must be numbers >= 1");
  }
  SHOAL_TRY(const int64_t groups, int_attribute(attributes, "groups"));
  const int64_t channels = x.shape.dims().back().size();
  if (groups < 1 || channels % groups != 0) {
    return invalid_argument("groups is " + std::to_string(groups) + ", which does not divide the " +
                            std::to_string(channels) + " channels of x " + to_string(x.shape));
  }
  return float_type({x.shape[0], groups});
}

Outputs group_norm_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_operands(inputs, 2, attributes));
  SHOAL_TRY(const ValueType kept, per_group(inputs[0], attributes));
  return std::vector{inputs[0], kept, kept};
}

Outputs group_norm_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_gradient_operands(inputs, 2, attributes));
  SHOAL_TRY(const ValueType kept, per_group(inputs[1], attributes));
  for (size_t i : {size_t(3), size_t(4)}) {
    const char* what = i == 3 ? "mean" : "inverse deviation";
    SHOAL_TRY_VOID(expect_float(inputs[i], what));
    SHOAL_TRY_VOID(expect_equal_shapes(inputs[i], what, kept, "the groups of x"));
  }
  return gradient_types(inputs[1], inputs[2]);
}

/// The gradient of layer_norm and group_norm. The name of the gradient op follows from the name of the op.
std::vector<Value> norm_gradient(const GradientRequest& request) {
  const auto& inputs = request.node.inputs;
  if (request.output_gradients[1].valid() || request.output_gradients[2].valid()) {
    raise(
        invalid_argument(request.node.op + " \"" + request.node.name +
                         "\": the loss depends on the moments that the op keeps for its gradient, which have no gradient"));
  }
  return request.graph.add(request.node.op + "_grad",
                           {request.output_gradients[0], inputs[0], inputs[1], request.outputs[1], request.outputs[2]},
                           request.node.attributes);
}

}  // namespace

void add_norm_ops(const AddOp& add) {
  const std::vector<OpDef::InPlace> over_x{{0, 0}};
  const std::vector<OpDef::InPlace> over_dy_or_x{{0, 0}, {0, 1}};
  add({.name = "batch_norm",
       .inputs_min = 3,
       .inputs_max = 4,
       .shape_rule = batch_norm_types,
       .gradient = batch_norm_gradient,
       .in_place = {{0, 0}, {0, 3}},
       .rewrites = {.takes_activation = "relu", .addend = 3}});
  add({.name = "batch_norm_grad",
       .inputs_min = 5,
       .inputs_max = 6,
       .shape_rule = batch_norm_grad_types,
       .in_place = {{0, 0}, {0, 1}, {0, 5}},
       .rewrites = {.masked_by = 5}});
  add({.name = "batch_norm_inference",
       .inputs_min = 5,
       .inputs_max = 5,
       .shape_rule = batch_norm_inference_types,
       .gradient = batch_norm_inference_gradient,
       .in_place = over_x,
       .rewrites = {.takes_activation = "relu"}});
  add({.name = "batch_norm_inference_grad",
       .inputs_min = 5,
       .inputs_max = 5,
       .shape_rule = batch_norm_inference_grad_types,
       .in_place = over_dy_or_x});
  auto norm = [&](const std::string& name, ShapeRule rule, ShapeRule gradient_rule) {
    add({.name = name,
         .inputs_min = 3,
         .inputs_max = 3,
         .shape_rule = std::move(rule),
         .gradient = norm_gradient,
         .in_place = over_x});
    add({.name = name + "_grad",
         .inputs_min = 5,
         .inputs_max = 5,
         .shape_rule = std::move(gradient_rule),
         .in_place = over_dy_or_x});
  };
  norm("layer_norm", layer_norm_types, layer_norm_grad_types);
  norm("group_norm", group_norm_types, group_norm_grad_types);
}

}  // namespace rules

namespace ops {

BatchNorm batch_norm(Value x, Value scale, Value shift, const NormOptions& options, std::string_view name) {
  const auto outputs =
      rules::graph_of("batch_norm", x)
          .add("batch_norm", {x, scale, shift}, {{"epsilon", options.epsilon}, {"activation", std::string("none")}}, name);
  return {outputs[0], outputs[1], outputs[2]};
}

Value batch_norm_inference(Value x, Value scale, Value shift, const Moments& moments, const NormOptions& options,
                           std::string_view name) {
  return rules::graph_of("batch_norm_inference", x)
      .add("batch_norm_inference", {x, scale, shift, moments.mean, moments.variance},
           {{"epsilon", options.epsilon}, {"activation", std::string("none")}}, name)[0];
}

Value layer_norm(Value x, Value scale, Value shift, const NormOptions& options, std::string_view name) {
  return rules::graph_of("layer_norm", x).add("layer_norm", {x, scale, shift}, {{"epsilon", options.epsilon}}, name)[0];
}

Value group_norm(Value x, Value scale, Value shift, const GroupNormOptions& options, std::string_view name) {
  return rules::graph_of("group_norm", x)
      .add("group_norm", {x, scale, shift}, {{"epsilon", options.epsilon}, {"groups", options.groups}}, name)[0];
}

}  // namespace ops
}  // namespace shoal
