// SPDX-License-Identifier: Apache-2.0
/// Further convolutions, and pooling over whole images, composed of conv2d and the pools where possible.
#include <algorithm>

#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

constexpr int64_t kImageSideMax = int64_t(1) << 31;

/// The shape of the image y [n, OH, OW, O] that conv2d would turn into x. Its height and width are the attribute "size".
Result<DimShape> transposed_shape(const ValueType& x, const ValueType& kernel, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_float_rank(x, 4, "x"));
  SHOAL_TRY_VOID(expect_float_rank(kernel, 4, "kernel"));
  if (!kernel.shape.is_fixed())
    return invalid_argument("kernel " + to_string(kernel.shape) + ": all sizes must be numbers");
  if (x.shape[3] != kernel.shape[0]) {
    return invalid_argument("kernel " + to_string(kernel.shape) + " takes " + to_string(kernel.shape[0]) + " channels, x " +
                            to_string(x.shape) + " has " + to_string(x.shape[3]));
  }
  SHOAL_TRY(const auto size, ints_attribute(attributes, "size", 2));
  if (size[0] < 1 || size[1] < 1 || size[0] > kImageSideMax || size[1] > kImageSideMax) {
    return invalid_argument("the result would have a height of " + std::to_string(size[0]) + " and a width of " +
                            std::to_string(size[1]) + "; the padding removes more than the image has");
  }
  int64_t groups = 1;
  if (attributes.has("groups")) {
    SHOAL_TRY(groups, int_attribute(attributes, "groups"));
  }
  if (groups < 1 || groups > kImageSideMax || kernel.shape[1].size() > kImageSideMax) {
    return invalid_argument("groups is " + std::to_string(groups) + "; it must be at least 1");
  }
  DimShape y{x.shape[0], size[0], size[1], groups * kernel.shape[1].size()};
  SHOAL_TRY(const DimShape back, conv2d_shape(float_type(y), kernel, attributes));
  if (back == x.shape) return y;
  return invalid_argument("conv2d of the result " + to_string(y) + " would give " + to_string(back) + ", not x " +
                          to_string(x.shape) + "; output_padding has to be below the stride");
}

Outputs conv2d_transpose_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(DimShape shape, transposed_shape(inputs[0], inputs[1], attributes));
  if (inputs.size() > 2) {
    SHOAL_TRY_VOID(expect_float_rank(inputs[2], 1, "bias"));
    if (inputs[2].shape[0] != shape[3]) {
      return invalid_argument("bias " + to_string(inputs[2].shape) + " must have one element for each of the " +
                              to_string(shape[3]) + " channels of the result " + to_string(shape));
    }
  }
  return std::vector{float_type(std::move(shape))};
}

/// The gradient for x is a conv2d with dy as its image, since this op is the transpose of conv2d.
std::vector<Value> conv2d_transpose_gradient(const GradientRequest& request) {
  const Value x = request.node.inputs[0];
  const Value kernel = request.node.inputs[1];
  const Value dy = request.output_gradients[0];
  Attributes attributes;
  for (const auto& [name, value] : request.node.attributes.values()) {
    if (name != "size") attributes.set(name, value);
  }
  attributes.set("activation", std::string("none"));
  std::vector<Value> result(request.node.inputs.size());
  if (request.wanted[1]) result[1] = request.graph.add("conv2d_grad_kernel", {x, dy, kernel}, attributes)[0];
  if (result.size() > 2 && request.wanted[2]) result[2] = request.graph.add("bias_grad", {dy})[0];
  if (request.wanted[0]) result[0] = request.graph.add("conv2d", {dy, kernel}, attributes)[0];
  return result;
}

/// The padding of a transposed convolution, and the height and width of its result. Invalid arguments are not found here:
/// the op's shape rule refuses them later.
struct Transposed {
  std::vector<int64_t> padding{0, 0, 0, 0};
  std::vector<int64_t> size{0, 0};

  Transposed(const DimShape& x, const DimShape& kernel, const ops::Conv2dTransposeOptions& options) {
    if (options.padding.kind == Padding::Kind::kExplicit) {
      padding.assign(options.padding.sizes.begin(), options.padding.sizes.end());
    }
    for (int axis = 0; axis < 2; ++axis) resolve(axis, x, kernel, options);
  }

 private:
  void resolve(int axis, const DimShape& x, const DimShape& kernel, const ops::Conv2dTransposeOptions& options) {
    const auto at = size_t(axis);
    const int64_t stride = options.strides[at], length = x[axis + 1].size();
    const int64_t window = dilated_window(kernel[axis + 2].size(), options.dilations[at]);
    if (stride < 1 || stride > kImageSideMax || length > kImageSideMax) return;
    if (options.padding.kind == Padding::Kind::kSame) {
      size[at] = length * stride;
      const AxisPadding same = same_padding(size[at], window, stride);
      padding[2 * at] = same.before, padding[2 * at + 1] = same.after;
    } else {
      const auto in_range = [](int64_t value) { return std::clamp<int64_t>(value, -1, kImageSideMax); };
      size[at] = (length - 1) * stride + window - in_range(padding[2 * at]) - in_range(padding[2 * at + 1]) +
                 in_range(options.output_padding[at]);
    }
  }
};

/// Raises InvalidArgument unless x is a batch of images whose height and width are numbers >= 1.
void check_image(std::string_view op, Value x) {
  const DimShape& shape = x.shape();
  if (shape.rank() == 4 && !shape[1].is_symbol() && !shape[2].is_symbol() && shape[1].size() > 0 && shape[2].size() > 0)
    return;
  raise(invalid_argument(std::string(op) + ": needs an image [N, H, W, C] whose height and width are numbers >= 1, not " +
                         to_string(shape)));
}

Value without_pixels(Value pooled, std::string_view name) {
  return ops::reshape(pooled, {pooled.shape()[0], pooled.shape()[3]}, name);
}

}  // namespace

void add_conv2d_transpose_ops(const AddOp& add) {
  add({.name = "conv2d_transpose",
       .inputs_min = 2,
       .inputs_max = 3,
       .shape_rule = conv2d_transpose_types,
       .gradient = conv2d_transpose_gradient,
       .product = true,
       .multiply_adds = [](const Attributes&, Operands in, Operands) { return per_filter(in[0], in[1]); }});
}

}  // namespace rules

namespace ops {

Value conv1d(Value x, Value kernel, Value bias, const Conv1dOptions& options, std::string_view name) {
  rules::graph_of("conv1d", x);
  if (!kernel.valid()) raise(invalid_argument("conv1d: operand 1 is an invalid Value"));
  const DimShape &rows = x.shape(), &window = kernel.shape();
  if (rows.rank() != 3 || window.rank() != 3 || rows[1].is_symbol() || rows[2].is_symbol() || !window.is_fixed()) {
    raise(invalid_argument("conv1d: needs x [n, W, I] and a kernel [O, I, KW] in which all sizes but n are numbers, not " +
                           to_string(rows) + " and " + to_string(window)));
  }
  if (options.padding.sizes[0] != 0 || options.padding.sizes[1] != 0) {
    raise(invalid_argument("conv1d: padding at the top and bottom must be 0, since rows are one pixel high"));
  }
  const Value image = reshape(x, {rows[0], 1, rows[1], rows[2]});
  const Value image_kernel = reshape(kernel, {window[0], window[1], 1, window[2]});
  const Value y = conv2d(image, image_kernel, bias,
                         {.strides = {1, options.stride},
                          .padding = options.padding,
                          .dilations = {1, options.dilation},
                          .groups = options.groups},
                         name.empty() ? "conv1d" : name);
  return reshape(y, {y.shape()[0], y.shape()[2], y.shape()[3]});
}

Value conv2d_transpose(Value x, Value kernel, Value bias, const Conv2dTransposeOptions& options, std::string_view name) {
  Graph& graph = rules::graph_of("conv2d_transpose", x);
  if (!kernel.valid()) raise(invalid_argument("conv2d_transpose: operand 1 is an invalid Value"));
  rules::check_image("conv2d_transpose", x);
  if (kernel.rank() != 4 || !kernel.shape().is_fixed()) {
    raise(invalid_argument("conv2d_transpose: needs a kernel [I, O, KH, KW] whose sizes are numbers, not " +
                           to_string(kernel.shape())));
  }
  rules::Transposed transposed(x.shape(), kernel.shape(), options);
  Attributes attributes =
      rules::conv2d_attributes(options.strides, std::move(transposed.padding), options.dilations, options.groups);
  attributes.set("size", std::move(transposed.size));
  std::vector<Value> inputs{x, kernel};
  if (bias.valid()) inputs.push_back(bias);
  return graph.add("conv2d_transpose", std::move(inputs), std::move(attributes), name)[0];
}

Value global_avg_pool(Value x, std::string_view name) {
  rules::graph_of("global_avg_pool", x);
  rules::check_image("global_avg_pool", x);
  const Value mean = avg_pool(x, {.window = {x.shape()[1].size(), x.shape()[2].size()}});
  return rules::without_pixels(mean, name.empty() ? "global_avg_pool" : name);
}

Value global_max_pool(Value x, std::string_view name) {
  rules::graph_of("global_max_pool", x);
  rules::check_image("global_max_pool", x);
  // A window of max_pool has at most 256 elements, so a single max_pool cannot cover every image. First each row is reduced
  // to its maximum: a max_pool reduces 256 elements to one, so longer rows need several, one after the other. Then the
  // column of these maxima is reduced likewise. In this order the first maximum (row by row) gets the gradient, as in
  // max_pool.
  constexpr int64_t kStep = 256;
  const std::array<int64_t, 2> no_step{1, 1};
  for (size_t axis : {size_t(1), size_t(0)}) {
    for (int64_t size = x.shape()[int(axis) + 1].size(); size > 1; size = x.shape()[int(axis) + 1].size()) {
      std::array<int64_t, 2> window = no_step;
      window[axis] = std::min(size, kStep);
      const int64_t beyond = (size + window[axis] - 1) / window[axis] * window[axis] - size;
      x = max_pool(
          x, {.window = window,
              .padding = axis == 0 ? Padding::explicit_sizes(0, beyond, 0, 0) : Padding::explicit_sizes(0, 0, 0, beyond)});
    }
  }
  return rules::without_pixels(x, name.empty() ? "global_max_pool" : name);
}

}  // namespace ops
}  // namespace shoal
