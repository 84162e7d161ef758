#include "shoal/nn/conv2d.h"

#include "layers.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {

Value conv2d(Value x, const Conv2dOptions& options) {
  check_input(options.name, x, 4, "[batch, height, width, channels]");
  check_positive(options.name, "filters", options.filters);
  check_positive(options.name, "the kernel's height", options.kernel.height);
  check_positive(options.name, "the kernel's width", options.kernel.width);
  check_positive(options.name, "the stride down", options.strides.height);
  check_positive(options.name, "the stride right", options.strides.width);
  const int64_t channels = fixed_size(options.name, x, 3);
  check_positive(options.name, "the number of channels", channels);

  Graph& graph = x.graph();
  const auto scope = graph.scope(options.name);
  const Shape kernel_shape{options.filters, channels, options.kernel.height, options.kernel.width};
  const Fans fans = fans_of(kernel_shape);
  const Value kernel = add_weight(graph, "kernel", kernel_shape, fans,
                                  {options.kernel_initialiser, options.kernel_regulariser, options.trainable});
  Value bias;
  if (options.use_bias) {
    bias = add_weight(graph, "bias", Shape{options.filters}, fans,
                      {options.bias_initialiser, options.bias_regulariser, options.trainable});
  }
  const Value y = ops::conv2d(x, kernel, bias, {.strides = options.strides.sizes(), .padding = options.padding});
  return activate(y, options.activation);
}

}  // namespace shoal::nn
