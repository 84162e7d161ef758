// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/dense.h"

#include "layers.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {

Value dense(Value x, const DenseOptions& options) {
  check_rank_min(options.name, x, 2, "[batch, ..., inputs]");
  check_positive(options.name, "units", options.units);
  const int64_t inputs = fixed_size(options.name, x, x.rank() - 1);
  check_positive(options.name, "the number of inputs", inputs);

  Graph& graph = x.graph();
  const auto scope = graph.scope(options.name);
  const Shape kernel_shape{options.units, inputs};
  const Fans fans = fans_of(kernel_shape);
  const Value kernel = add_weight(graph, "kernel", kernel_shape, fans,
                                  {options.kernel_initializer, options.kernel_regularizer, options.trainable});
  Value bias;
  if (options.use_bias) {
    bias = add_weight(graph, "bias", Shape{options.units}, fans,
                      {options.bias_initializer, options.bias_regularizer, options.trainable});
  }
  return activate(ops::dense(x, kernel, bias), options.activation);
}

}  // namespace shoal::nn
