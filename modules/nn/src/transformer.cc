// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/transformer.h"

#include "layers.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/attention.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/dropout.h"
#include "shoal/nn/normalization.h"

namespace shoal::nn {

Value position_embedding(Value x, const PositionEmbeddingOptions& options) {
  check_input(options.name, x, 3, "[batch, time, features]");
  const int64_t time = fixed_size(options.name, x, 1), features = fixed_size(options.name, x, 2);
  const int64_t positions = options.positions_max == 0 ? time : options.positions_max;
  if (time > positions) {
    raise(invalid_argument(options.name + ": the input " + to_string(x.shape()) + " is longer than positions_max, " +
                           std::to_string(positions)));
  }
  const auto scope = x.graph().scope(options.name);
  const Value table =
      add_weight(x.graph(), "table", Shape{positions, features}, Fans{}, {options.initializer, {}, options.trainable});
  return ops::add(x, time == positions ? table : ops::slice(table, {{.begin = 0, .size = time}}));
}

Value transformer_block(Value x, Mode mode, const TransformerBlockOptions& options) {
  check_input(options.name, x, 3, "[batch, time, features]");
  const int64_t features = fixed_size(options.name, x, 2);
  const int64_t units = options.feed_forward_units == 0 ? multiple(options.name, "the number of features", 4, features)
                                                        : options.feed_forward_units;
  const auto scope = x.graph().scope(options.name);
  const Value attended = multi_head_attention(layer_norm(x, {.trainable = options.trainable}),
                                              {.heads = options.heads,
                                               .causal = options.causal,
                                               .lengths = options.lengths,
                                               .kernel_initializer = options.kernel_initializer,
                                               .kernel_regularizer = options.kernel_regularizer,
                                               .trainable = options.trainable});
  const Value y = ops::add(x, dropout(attended, mode, {.rate = options.dropout}));
  const Value hidden =
      dense(layer_norm(y, {.trainable = options.trainable}), {.units = units,
                                                              .activation = options.activation,
                                                              .kernel_initializer = options.kernel_initializer,
                                                              .kernel_regularizer = options.kernel_regularizer,
                                                              .trainable = options.trainable,
                                                              .name = "feed_forward"});
  const Value result = dense(hidden, {.units = features,
                                      .kernel_initializer = options.kernel_initializer,
                                      .kernel_regularizer = options.kernel_regularizer,
                                      .trainable = options.trainable,
                                      .name = "feed_forward_result"});
  return ops::add(y, dropout(result, mode, {.rate = options.dropout}));
}

}  // namespace shoal::nn
