// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Multi-head attention as a layer.
#include <cstdint>
#include <string>

#include "shoal/graph/graph.h"
#include "shoal/nn/initializers.h"
#include "shoal/nn/regularizer.h"

namespace shoal::nn {

struct MultiHeadAttentionOptions {
  int64_t heads = 0;  ///< At least 1. There is no default.
  /// The features of each head's queries, keys and values. 0: the features of x divided by heads.
  int64_t head_size = 0;
  int64_t units = 0;    ///< The features of the result. 0: as many as x has.
  bool causal = false;  ///< True: position i attends to positions 0 to i only.
  /// An int64 [batch]: how many positions of the attended sequence are valid. None: all. Positions behind them have to be
  /// finite: a NaN there can reach the gradients of the kernels and, as 0 times NaN, the results.
  Value lengths = {};
  bool use_bias = true;
  /// The initializer of the projections to queries, keys, values and result, each with its own fans. A projection is one
  /// matrix for all heads.
  InitializerSpec kernel_initializer = glorot_uniform();
  InitializerSpec bias_initializer = zeros();
  /// A penalty on the weights. Heads add this penalty to their loss. Add nn::regularization_loss(graph) to your own loss.
  Regularizer kernel_regularizer = {};
  bool trainable = true;
  /// The scope of the variables; a second layer gets "attention_1".
  std::string name = "attention";
};

/// Self-attention: queries, keys and values are projections of x, and the results of the heads are projected once more.
///
///   x        [batch, time, features]  float32; features is a number, the others may be symbols
///   returns  [batch, time, units]     float32
///
/// Adds variables "<name>/projections/kernel" [3 * heads * head_size, features] (queries, keys, values, in this order),
/// "<name>/result/kernel" [units, heads * head_size] and, with use_bias, a bias beside each. Raises InvalidArgument if x is
/// not of rank 3, not float32, heads < 1, or head_size is not given and heads does not divide the features. Source: Vaswani
/// et al., "Attention is all you need" (NeurIPS 2017), section 3.2.2.
Value multi_head_attention(Value x, const MultiHeadAttentionOptions& options);

/// Attention from each position of x to the positions of `memory` [batch, positions, any features]: queries are projections
/// of x, keys and values are projections of `memory`. `causal` needs as many positions in `memory` as in x. Adds variables
/// "<name>/query/kernel", "<name>/key/kernel" and "<name>/value/kernel" [heads * head_size, features of x or of memory],
/// "<name>/result/kernel" and biases.
Value multi_head_attention(Value x, Value memory, const MultiHeadAttentionOptions& options);

}  // namespace shoal::nn
