/// Two-dimensional convolution.
#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

Result<void> expect_kernel(const ValueType& kernel) {
  SHOAL_TRY_VOID(expect_float_rank(kernel, 4, "kernel"));
  if (kernel.shape.is_fixed()) return {};
  return invalid_argument("kernel " + to_string(kernel.shape) + ": all sizes must be numbers");
}

Result<DimShape> result_shape(const ValueType& x, const ValueType& kernel, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_float_rank(x, 4, "x"));
  SHOAL_TRY_VOID(expect_kernel(kernel));
  if (x.shape[3] != kernel.shape[1]) {
    return invalid_argument("kernel " + to_string(kernel.shape) + " takes " + to_string(kernel.shape[1]) + " channels, x " +
                            to_string(x.shape) + " has " + to_string(x.shape[3]));
  }
  SHOAL_TRY(const Sliding out, slide(x, kernel.shape[2].size(), kernel.shape[3].size(), attributes));
  return DimShape{x.shape[0], out.out_height, out.out_width, kernel.shape[0]};
}

Outputs conv2d_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(DimShape shape, result_shape(inputs[0], inputs[1], attributes));
  if (inputs.size() > 2) SHOAL_TRY_VOID(expect_bias(inputs[2], inputs[1]));
  SHOAL_TRY_VOID(expect_activation(attributes));
  return std::vector{float_type(std::move(shape))};
}

/// dy must be what the forward op would give for this x and kernel.
Result<void> expect_result(const ValueType& dy, const ValueType& x, const ValueType& kernel, const Attributes& attributes) {
  SHOAL_TRY(const DimShape shape, result_shape(x, kernel, attributes));
  SHOAL_TRY_VOID(expect_float(dy, "dy"));
  if (dy.shape == shape) return {};
  return invalid_argument("dy " + to_string(dy.shape) + " must have the shape of the result, " + to_string(shape));
}

Outputs conv2d_grad_input_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_result(inputs[0], inputs[2], inputs[1], attributes));
  return std::vector{inputs[2]};
}

Outputs conv2d_grad_kernel_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_result(inputs[0], inputs[1], inputs[2], attributes));
  return std::vector{inputs[2]};
}

std::vector<Value> conv2d_gradient(const GradientRequest& request) {
  const Value x = request.node.inputs[0];
  const Value kernel = request.node.inputs[1];
  const Value dy = before_activation(request);
  Attributes attributes = request.node.attributes;
  attributes.set("activation", std::string("none"));
  std::vector<Value> result(request.node.inputs.size());
  // The kernel is read first: after that it may be updated while its own gradient is in the cache.
  if (request.wanted[0]) result[0] = request.graph.add("conv2d_grad_input", {dy, kernel, x}, attributes)[0];
  if (request.wanted[1]) result[1] = request.graph.add("conv2d_grad_kernel", {dy, x, kernel}, attributes)[0];
  if (result.size() > 2 && request.wanted[2]) result[2] = request.graph.add("bias_grad", {dy})[0];
  return result;
}

}  // namespace

void add_conv2d_ops(const AddOp& add) {
  add({.name = "conv2d", .inputs_min = 2, .inputs_max = 3, .shape_rule = conv2d_types, .gradient = conv2d_gradient});
  add({.name = "conv2d_grad_input",
       .inputs_min = 3,
       .inputs_max = 3,
       .shape_rule = conv2d_grad_input_types,
       .shape_only = {2}});
  add({.name = "conv2d_grad_kernel",
       .inputs_min = 3,
       .inputs_max = 3,
       .shape_rule = conv2d_grad_kernel_types,
       .shape_only = {2}});
}

}  // namespace rules

namespace ops {

Value conv2d(Value x, Value kernel, Value bias, const Conv2dOptions& options, std::string_view name) {
  Graph& graph = rules::graph_of("conv2d", x);
  if (!kernel.valid()) raise(invalid_argument("conv2d: operand 1 is an invalid Value"));
  std::array<int64_t, 2> window{1, 1};
  if (kernel.shape().rank() == 4 && kernel.shape().is_fixed())
    window = {kernel.shape()[2].size(), kernel.shape()[3].size()};
  Attributes attributes{{"strides", std::vector<int64_t>(options.strides.begin(), options.strides.end())},
                        {"padding", rules::resolve_padding("conv2d", x, window, options.strides, options.padding)},
                        {"activation", std::string("none")}};
  std::vector<Value> inputs{x, kernel};
  if (bias.valid()) inputs.push_back(bias);
  return graph.add("conv2d", std::move(inputs), std::move(attributes), name)[0];
}

}  // namespace ops
}  // namespace shoal
