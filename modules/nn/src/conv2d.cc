// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/conv2d.h"

#include "layers.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {
namespace {

/// The kernel size, strides and dilation of a layer, each as (height, width).
struct Extents {
  Extent kernel, strides, dilation;
};

void check_groups(std::string_view layer, int64_t groups, int64_t channels, int64_t filters) {
  check_positive(layer, "the number of channels", channels);
  if (channels % groups == 0 && filters % groups == 0) return;
  raise(invalid_argument(std::string(layer) + ": groups is " + std::to_string(groups) + ", which has to divide the " +
                         std::to_string(channels) + " channels and the " + std::to_string(filters) + " filters"));
}

/// Checks x (its expected shape is `shape`) and the options that all convolution layers have. Returns the number
/// of channels.
template <class Options>
int64_t check_layer(Value x, int rank, std::string_view shape, const Options& options, const Extents& extents) {
  const std::string& layer = options.name;
  check_input(layer, x, rank, shape);
  check_positive(layer, "filters", options.filters);
  check_positive(layer, "the kernel's height", extents.kernel.height);
  check_positive(layer, "the kernel's width", extents.kernel.width);
  check_positive(layer, "the stride down", extents.strides.height);
  check_positive(layer, "the stride right", extents.strides.width);
  check_positive(layer, "the dilation down", extents.dilation.height);
  check_positive(layer, "the dilation right", extents.dilation.width);
  check_positive(layer, "groups", options.groups);
  const int64_t channels = fixed_size(layer, x, rank - 1);
  check_groups(layer, options.groups, channels, options.filters);
  return channels;
}

struct ConvWeights {
  Value kernel;
  Value bias;
};

/// Adds a convolution's variables, kernel and bias, in the current scope.
template <class Options>
ConvWeights add_weights(Graph& graph, const Shape& kernel, Fans fans, int64_t filters, const Options& options) {
  ConvWeights weights;
  weights.kernel = add_weight(graph, "kernel", kernel, fans,
                              {options.kernel_initializer, options.kernel_regularizer, options.trainable});
  if (options.use_bias) {
    weights.bias = add_weight(graph, "bias", Shape{filters}, fans,
                              {options.bias_initializer, options.bias_regularizer, options.trainable});
  }
  return weights;
}

/// The fans of filters that use only the channels of their group.
Fans fans_of_groups(int64_t channels, int64_t filters, int64_t groups, double window) {
  return {.in = double(channels / groups) * window, .out = double(filters / groups) * window};
}

}  // namespace

Value conv2d(Value x, const Conv2dOptions& options) {
  const int64_t channels =
      check_layer(x, 4, "[batch, height, width, channels]", options, {options.kernel, options.strides, options.dilation});
  const int64_t groups = options.groups;

  Graph& graph = x.graph();
  const auto scope = graph.scope(options.name);
  const Shape shape{options.filters, channels / groups, options.kernel.height, options.kernel.width};
  const Fans fans =
      fans_of_groups(channels, options.filters, groups, double(options.kernel.height) * double(options.kernel.width));
  const ConvWeights weights = add_weights(graph, shape, fans, options.filters, options);
  const Value y = ops::conv2d(x, weights.kernel, weights.bias,
                              {.strides = options.strides.sizes(),
                               .padding = options.padding,
                               .dilations = options.dilation.sizes(),
                               .groups = groups});
  return activate(y, options.activation);
}

Value depthwise_conv2d(Value x, const DepthwiseConv2dOptions& options) {
  check_input(options.name, x, 4, "[batch, height, width, channels]");
  check_positive(options.name, "multiplier", options.multiplier);
  const int64_t channels = fixed_size(options.name, x, 3);
  return conv2d(x, {.filters = multiple(options.name, "multiplier", channels, options.multiplier),
                    .kernel = options.kernel,
                    .strides = options.strides,
                    .padding = options.padding,
                    .dilation = options.dilation,
                    .groups = channels,
                    .activation = options.activation,
                    .use_bias = options.use_bias,
                    .kernel_initializer = options.kernel_initializer,
                    .bias_initializer = options.bias_initializer,
                    .kernel_regularizer = options.kernel_regularizer,
                    .bias_regularizer = options.bias_regularizer,
                    .trainable = options.trainable,
                    .name = options.name});
}

Value conv1d(Value x, const Conv1dOptions& options) {
  const int64_t channels = check_layer(x, 3, "[batch, width, channels]", options,
                                       {{1, options.kernel}, {1, options.stride}, {1, options.dilation}});
  const int64_t groups = options.groups;

  Graph& graph = x.graph();
  const auto scope = graph.scope(options.name);
  const Shape shape{options.filters, channels / groups, options.kernel};
  const Fans fans = fans_of_groups(channels, options.filters, groups, double(options.kernel));
  const ConvWeights weights = add_weights(graph, shape, fans, options.filters, options);
  const Value y =
      ops::conv1d(x, weights.kernel, weights.bias,
                  {.stride = options.stride, .padding = options.padding, .dilation = options.dilation, .groups = groups});
  return activate(y, options.activation);
}

Value conv2d_transpose(Value x, const Conv2dTransposeOptions& options) {
  const int64_t channels =
      check_layer(x, 4, "[batch, height, width, channels]", options, {options.kernel, options.strides, options.dilation});
  const int64_t groups = options.groups;

  Graph& graph = x.graph();
  const auto scope = graph.scope(options.name);
  const Shape shape{channels, options.filters / groups, options.kernel.height, options.kernel.width};
  const Fans fans =
      fans_of_groups(channels, options.filters, groups, double(options.kernel.height) * double(options.kernel.width));
  const ConvWeights weights = add_weights(graph, shape, fans, options.filters, options);
  const Value y = ops::conv2d_transpose(x, weights.kernel, weights.bias,
                                        {.strides = options.strides.sizes(),
                                         .padding = options.padding,
                                         .output_padding = options.output_padding.sizes(),
                                         .dilations = options.dilation.sizes(),
                                         .groups = groups});
  return activate(y, options.activation);
}

}  // namespace shoal::nn
