// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/recurrent.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "layers.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {
namespace {

/// The variables of a recurrent layer. `Options` is LstmOptions or GruOptions.
struct Weights {
  Value kernel;     ///< [gates * units, inputs]
  Value recurrent;  ///< [gates * units, units]
  Value bias;       ///< [gates * units]
};

template <class Options>
void check(Value x, const Options& options) {
  check_input(options.name, x, 3, "[batch, time, inputs]");
  check_positive(options.name, "units", options.units);
  check_positive(options.name, "the number of inputs", fixed_size(options.name, x, 2));
}

template <class Options>
Weights add_weights(Value x, int64_t gates, const Options& options) {
  Graph& graph = x.graph();
  const int64_t rows = multiple(options.name, "units", gates, options.units);
  const Shape kernel{rows, x.shape()[2].size()}, recurrent{rows, options.units};
  Weights weights;
  weights.kernel = add_weight(graph, "kernel", kernel, fans_of(kernel),
                              {options.kernel_initializer, options.kernel_regularizer, options.trainable});
  weights.recurrent = add_weight(graph, "recurrent_kernel", recurrent, fans_of(recurrent),
                                 {options.recurrent_initializer, options.recurrent_regularizer, options.trainable});
  weights.bias = add_weight(graph, "bias", Shape{rows}, fans_of(kernel), {options.bias_initializer, {}, options.trainable});
  return weights;
}

/// `bias` with `forget_bias` added to the second of its four parts.
Value with_forget_bias(Value bias, int64_t units, double forget_bias) {
  if (forget_bias == 0) return bias;
  std::vector<float> added(size_t(4 * units));
  std::fill_n(added.begin() + units, units, float(forget_bias));
  return ops::add(bias,
                  bias.graph().constant(Tensor::of<float>({4 * units}, std::span<const float>(added)), "forget_bias"));
}

}  // namespace

ops::Lstm lstm(Value x, const LstmOptions& options) {
  check(x, options);
  if (!std::isfinite(options.forget_bias)) {
    raise(invalid_argument(options.name + ": forget_bias is " + std::to_string(options.forget_bias) +
                           ", expected a finite number"));
  }
  const auto scope = x.graph().scope(options.name);
  const Weights weights = add_weights(x, 4, options);
  const Value bias = with_forget_bias(weights.bias, options.units, options.forget_bias);
  return ops::lstm(
      ops::dense(x, weights.kernel, bias), weights.recurrent,
      {.initial_hidden = options.initial_hidden, .initial_cell = options.initial_cell, .lengths = options.lengths});
}

ops::Gru gru(Value x, const GruOptions& options) {
  check(x, options);
  const auto scope = x.graph().scope(options.name);
  const Weights weights = add_weights(x, 3, options);
  const Value recurrent_bias = add_weight(x.graph(), "recurrent_bias", Shape{3 * options.units}, Fans{},
                                          {options.bias_initializer, {}, options.trainable});
  return ops::gru(ops::dense(x, weights.kernel, weights.bias), weights.recurrent,
                  {.recurrent_bias = recurrent_bias, .initial_hidden = options.initial_hidden, .lengths = options.lengths});
}

}  // namespace shoal::nn
