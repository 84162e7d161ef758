// SPDX-License-Identifier: Apache-2.0
/// The fully connected layer and the bias gradient that it shares with conv2d.
#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

const Dim& last(const DimShape& shape) { return shape.dims().back(); }

/// Returns `shape` with `size` in place of its last size.
DimShape with_last(const DimShape& shape, const Dim& size) {
  std::vector<Dim> dims = shape.dims();
  dims.back() = size;
  return DimShape(std::move(dims));
}

/// Checks that `type` is float32 [..., features] of rank 2 or more.
Result<void> expect_features(const ValueType& type, std::string_view what) {
  SHOAL_TRY_VOID(expect_float(type, what));
  return expect_rank_min(type, 2, what);
}

Outputs dense_types(Types inputs, const Attributes& attributes) {
  const ValueType& x = inputs[0];
  const ValueType& kernel = inputs[1];
  SHOAL_TRY_VOID(expect_features(x, "x"));
  SHOAL_TRY_VOID(expect_float_rank(kernel, 2, "kernel"));
  if (last(x.shape) != kernel.shape[1]) {
    return invalid_argument("kernel " + to_string(kernel.shape) + " takes " + to_string(kernel.shape[1]) + " features, x " +
                            to_string(x.shape) + " has " + to_string(last(x.shape)));
  }
  if (inputs.size() > 2) SHOAL_TRY_VOID(expect_bias(inputs[2], kernel));
  SHOAL_TRY_VOID(expect_activation(attributes));
  return std::vector{float_type(with_last(x.shape, kernel.shape[0]))};
}

std::vector<Value> dense_gradient(const GradientRequest& request) {
  const Value x = request.node.inputs[0];
  const Value kernel = request.node.inputs[1];
  const Value dy = before_activation(request);
  std::vector<Value> result(request.node.inputs.size());
  // The node for the input's gradient comes first, since it reads the kernel's values. No later node reads them, so an
  // optimizer can update the kernel while the kernel's gradient is being computed.
  if (request.wanted[0]) result[0] = request.graph.add("dense_grad_input", {dy, kernel})[0];
  if (request.wanted[1]) result[1] = request.graph.add("dense_grad_kernel", {dy, x})[0];
  if (result.size() > 2 && request.wanted[2]) result[2] = request.graph.add("bias_grad", {dy})[0];
  return result;
}

Outputs dense_grad_input_types(Types inputs, const Attributes&) {
  SHOAL_TRY_VOID(expect_features(inputs[0], "dy"));
  SHOAL_TRY_VOID(expect_float_rank(inputs[1], 2, "kernel"));
  if (last(inputs[0].shape) != inputs[1].shape[0]) {
    return invalid_argument("kernel " + to_string(inputs[1].shape) + " gives " + to_string(inputs[1].shape[0]) +
                            " features, dy " + to_string(inputs[0].shape) + " has " + to_string(last(inputs[0].shape)));
  }
  return std::vector{float_type(with_last(inputs[0].shape, inputs[1].shape[1]))};
}

Outputs dense_grad_kernel_types(Types inputs, const Attributes&) {
  const DimShape &dy = inputs[0].shape, &x = inputs[1].shape;
  SHOAL_TRY_VOID(expect_features(inputs[0], "dy"));
  SHOAL_TRY_VOID(expect_features(inputs[1], "x"));
  if (with_last(dy, 1) != with_last(x, 1)) {
    return invalid_argument("dy " + to_string(dy) + " and x " + to_string(x) +
                            " must have equal shapes except for the last size");
  }
  return std::vector{float_type({last(dy), last(x)})};
}

Outputs bias_grad_types(Types inputs, const Attributes&) {
  SHOAL_TRY_VOID(expect_float(inputs[0], "dy"));
  SHOAL_TRY_VOID(expect_rank_min(inputs[0], 1, "dy"));
  return std::vector{float_type({inputs[0].shape.dims().back()})};
}

}  // namespace

Result<void> expect_bias(const ValueType& bias, const ValueType& kernel) {
  SHOAL_TRY_VOID(expect_float_rank(bias, 1, "bias"));
  if (bias.shape[0] == kernel.shape[0]) return {};
  return invalid_argument("bias " + to_string(bias.shape) + " must have one element for each of the " +
                          to_string(kernel.shape[0]) + " outputs of kernel " + to_string(kernel.shape));
}

Result<void> expect_activation(const Attributes& attributes) {
  const auto activation = string_attribute(attributes, "activation");
  if (!activation) return activation.error();
  if (*activation == "none" || *activation == "relu") return {};
  return invalid_argument("activation \"" + *activation + "\" is neither \"none\" nor \"relu\"");
}

double per_filter(const TensorView& x, const TensorView& kernel) {
  return kernel.shape[0] == 0 ? 0 : double(x.elements()) * double(kernel.elements()) / double(kernel.shape[0]);
}

Value before_activation(const GradientRequest& request) {
  const Value dy = request.output_gradients[0];
  if (request.node.attributes.get_string("activation") == "none") return dy;
  return request.graph.add("relu_grad", {dy, request.outputs[0]})[0];
}

void add_dense_ops(const AddOp& add) {
  add({.name = "dense",
       .inputs_min = 2,
       .inputs_max = 3,
       .shape_rule = dense_types,
       .gradient = dense_gradient,
       .product = true,
       .multiply_adds = [](const Attributes&, Operands in, Operands out) { return per_filter(out[0], in[1]); },
       .rewrites = {.takes_activation = "relu"}});
  add({.name = "dense_grad_input",
       .inputs_min = 2,
       .inputs_max = 2,
       .shape_rule = dense_grad_input_types,
       .product = true,
       .multiply_adds = [](const Attributes&, Operands in, Operands) { return per_filter(in[0], in[1]); }});
  add({.name = "dense_grad_kernel",
       .inputs_min = 2,
       .inputs_max = 2,
       .shape_rule = dense_grad_kernel_types,
       .product = true,
       .multiply_adds = [](const Attributes&, Operands in, Operands out) { return per_filter(in[0], out[0]); }});
  add({.name = "bias_grad", .inputs_min = 1, .inputs_max = 1, .shape_rule = bias_grad_types});
}

}  // namespace rules

namespace ops {

Value dense(Value x, Value kernel, Value bias, std::string_view name) {
  std::vector<Value> inputs{x, kernel};
  if (bias.valid()) inputs.push_back(bias);
  return rules::graph_of("dense", x).add("dense", std::move(inputs), {{"activation", std::string("none")}}, name)[0];
}

}  // namespace ops
}  // namespace shoal
