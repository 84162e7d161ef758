// SPDX-License-Identifier: Apache-2.0
/// Two-dimensional convolution.
#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

constexpr int64_t kSizeMax = int64_t(1) << 31;  // Small enough that products of two sizes do not overflow.

Result<void> expect_kernel(const ValueType& kernel) {
  SHOAL_TRY_VOID(expect_float_rank(kernel, 4, "kernel"));
  if (kernel.shape.is_fixed()) return {};
  return invalid_argument("kernel " + to_string(kernel.shape) + ": all sizes must be numbers");
}

Result<std::vector<int64_t>> dilations_of(const Attributes& attributes) {
  if (!attributes.has("dilations")) return std::vector<int64_t>{1, 1};
  SHOAL_TRY(auto dilations, ints_attribute(attributes, "dilations", 2));
  for (int64_t dilation : dilations) {
    if (dilation < 1 || dilation > kSizeMax) {
      return invalid_argument("dilations " + std::to_string(dilations[0]) + ", " + std::to_string(dilations[1]) +
                              " must be at least 1");
    }
  }
  return dilations;
}

/// Returns how many channels an image needs so that it fits the kernel and the attribute "groups".
Result<int64_t> channels_of(const ValueType& kernel, const Attributes& attributes) {
  int64_t groups = 1;
  if (attributes.has("groups")) {
    SHOAL_TRY(groups, int_attribute(attributes, "groups"));
  }
  const int64_t filters = kernel.shape[0].size(), group_channels = kernel.shape[1].size();
  if (groups < 1 || groups > kSizeMax || group_channels > kSizeMax || filters % groups != 0) {
    return invalid_argument("groups is " + std::to_string(groups) + ", which does not divide the " +
                            std::to_string(filters) + " filters of kernel " + to_string(kernel.shape));
  }
  return groups * group_channels;
}

Outputs conv2d_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(DimShape shape, conv2d_shape(inputs[0], inputs[1], attributes));
  if (inputs.size() > 2) SHOAL_TRY_VOID(expect_bias(inputs[2], inputs[1]));
  SHOAL_TRY_VOID(expect_activation(attributes));
  return std::vector{float_type(std::move(shape))};
}

/// Checks that `dy` has the shape of the forward op's result for this x and kernel.
Result<void> expect_result(const ValueType& dy, const ValueType& x, const ValueType& kernel, const Attributes& attributes) {
  SHOAL_TRY(const DimShape shape, conv2d_shape(x, kernel, attributes));
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
  // The node for the input's gradient comes first, since it reads the kernel's values. No later node reads them, so an
  // optimizer can update the kernel as soon as the kernel's gradient has been computed and is still in the cache.
  if (request.wanted[0]) result[0] = request.graph.add("conv2d_grad_input", {dy, kernel, x}, attributes)[0];
  if (request.wanted[1]) result[1] = request.graph.add("conv2d_grad_kernel", {dy, x, kernel}, attributes)[0];
  if (result.size() > 2 && request.wanted[2]) result[2] = request.graph.add("bias_grad", {dy})[0];
  return result;
}

}  // namespace

int64_t dilated_window(int64_t kernel, int64_t dilation) {
  if (kernel > kSizeMax || dilation < 1 || dilation > kSizeMax) return kSizeMax + 1;
  return (kernel - 1) * dilation + 1;
}

Result<DimShape> conv2d_shape(const ValueType& x, const ValueType& kernel, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_float_rank(x, 4, "x"));
  SHOAL_TRY_VOID(expect_kernel(kernel));
  SHOAL_TRY(const int64_t channels, channels_of(kernel, attributes));
  if (x.shape[3] != Dim(channels)) {
    return invalid_argument("kernel " + to_string(kernel.shape) + " takes " + std::to_string(channels) + " channels, x " +
                            to_string(x.shape) + " has " + to_string(x.shape[3]));
  }
  SHOAL_TRY(const auto dilations, dilations_of(attributes));
  const int64_t height = dilated_window(kernel.shape[2].size(), dilations[0]);
  const int64_t width = dilated_window(kernel.shape[3].size(), dilations[1]);
  SHOAL_TRY(const Sliding out, slide(x, height, width, attributes));
  return DimShape{x.shape[0], out.out_height, out.out_width, kernel.shape[0]};
}

Attributes conv2d_attributes(std::array<int64_t, 2> strides, std::vector<int64_t> padding, std::array<int64_t, 2> dilations,
                             int64_t groups) {
  Attributes attributes{{"strides", std::vector<int64_t>(strides.begin(), strides.end())}, {"padding", std::move(padding)}};
  if (dilations != std::array<int64_t, 2>{1, 1}) {
    attributes.set("dilations", std::vector<int64_t>(dilations.begin(), dilations.end()));
  }
  if (groups != 1) attributes.set("groups", groups);
  return attributes;
}

void add_conv2d_ops(const AddOp& add) {
  add({.name = "conv2d",
       .inputs_min = 2,
       .inputs_max = 3,
       .shape_rule = conv2d_types,
       .gradient = conv2d_gradient,
       .product = true,
       .multiply_adds = [](const Attributes&, Operands in, Operands out) { return per_filter(out[0], in[1]); },
       .rewrites = {.takes_activation = "relu"}});
  add({.name = "conv2d_grad_input",
       .inputs_min = 3,
       .inputs_max = 3,
       .shape_rule = conv2d_grad_input_types,
       .shape_only = {2},
       .product = true,
       .multiply_adds = [](const Attributes&, Operands in, Operands) { return per_filter(in[0], in[1]); }});
  add({.name = "conv2d_grad_kernel",
       .inputs_min = 3,
       .inputs_max = 3,
       .shape_rule = conv2d_grad_kernel_types,
       .shape_only = {2},
       .product = true,
       .multiply_adds = [](const Attributes&, Operands in, Operands out) { return per_filter(in[0], out[0]); }});
}

}  // namespace rules

namespace ops {

Value conv2d(Value x, Value kernel, Value bias, const Conv2dOptions& options, std::string_view name) {
  Graph& graph = rules::graph_of("conv2d", x);
  if (!kernel.valid()) raise(invalid_argument("conv2d: operand 1 is an invalid Value"));
  std::array<int64_t, 2> window{1, 1};
  if (kernel.shape().rank() == 4 && kernel.shape().is_fixed()) {
    for (size_t axis = 0; axis < 2; ++axis) {
      window[axis] = rules::dilated_window(kernel.shape()[int(axis) + 2].size(), options.dilations[axis]);
    }
  }
  auto padding = rules::resolve_padding("conv2d", x, window, options.strides, options.padding);
  Attributes attributes = rules::conv2d_attributes(options.strides, std::move(padding), options.dilations, options.groups);
  attributes.set("activation", std::string("none"));
  std::vector<Value> inputs{x, kernel};
  if (bias.valid()) inputs.push_back(bias);
  return graph.add("conv2d", std::move(inputs), std::move(attributes), name)[0];
}

}  // namespace ops
}  // namespace shoal
