// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/attention.h"

#include "layers.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {
namespace {

/// Checks the options and returns the size of one head.
int64_t checked_head_size(Value x, const MultiHeadAttentionOptions& options) {
  check_input(options.name, x, 3, "[batch, time, features]");
  check_positive(options.name, "heads", options.heads);
  const int64_t features = fixed_size(options.name, x, 2);
  check_positive(options.name, "the number of features", features);
  if (options.head_size != 0) {
    check_positive(options.name, "head_size", options.head_size);
    return options.head_size;
  }
  if (features % options.heads != 0) {
    raise(invalid_argument(options.name + ": " + std::to_string(options.heads) + " heads do not divide the " +
                           std::to_string(features) + " features of the input; give head_size"));
  }
  return features / options.heads;
}

/// Checks the options and returns the size of all heads together.
int64_t checked_size(Value x, const MultiHeadAttentionOptions& options) {
  return multiple(options.name, "head_size", options.heads, checked_head_size(x, options));
}

/// Adds a dense layer with `units` outputs in scope `name`. Its kernel consists of `parts` projections of equal size, for
/// example those to queries, keys and values. The initializer gets the fans (numbers of inputs and outputs) of one of them.
Value project(Value x, int64_t units, int64_t parts, std::string_view name, const MultiHeadAttentionOptions& options) {
  Graph& graph = x.graph();
  const auto scope = graph.scope(name);
  const int64_t features = x.shape()[2].size();
  const Value kernel = add_weight(graph, "kernel", Shape{units, features}, fans_of(Shape{units / parts, features}),
                                  {options.kernel_initializer, options.kernel_regularizer, options.trainable});
  Value bias;
  if (options.use_bias) {
    bias = add_weight(graph, "bias", Shape{units}, Fans{}, {options.bias_initializer, {}, options.trainable});
  }
  return ops::dense(x, kernel, bias);
}

Value project_result(Value attended, Value x, const MultiHeadAttentionOptions& options) {
  const int64_t units = options.units == 0 ? x.shape()[2].size() : options.units;
  check_positive(options.name, "units", units);
  return project(attended, units, 1, "result", options);
}

ops::AttentionOptions attention_options(const MultiHeadAttentionOptions& options) {
  return {.heads = options.heads, .causal = options.causal, .lengths = options.lengths};
}

}  // namespace

Value multi_head_attention(Value x, const MultiHeadAttentionOptions& options) {
  const int64_t size = checked_size(x, options);
  const auto scope = x.graph().scope(options.name);
  const Value projections = project(x, multiple(options.name, "the size of all heads", 3, size), 3, "projections", options);
  return project_result(ops::self_attention(projections, attention_options(options)).result, x, options);
}

Value multi_head_attention(Value x, Value memory, const MultiHeadAttentionOptions& options) {
  const int64_t size = checked_size(x, options);
  check_input(options.name, memory, 3, "[batch, positions, features]");
  check_positive(options.name, "the number of features of the memory", fixed_size(options.name, memory, 2));
  const auto scope = x.graph().scope(options.name);
  const Value query = project(x, size, 1, "query", options);
  const Value key = project(memory, size, 1, "key", options);
  const Value value = project(memory, size, 1, "value", options);
  return project_result(ops::attention(query, key, value, attention_options(options)).result, x, options);
}

}  // namespace shoal::nn
