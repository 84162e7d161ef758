// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The parts of a transformer besides attention: position embeddings, and the block that a transformer repeats.
#include <cstdint>
#include <string>

#include "shoal/graph/graph.h"
#include "shoal/nn/activation.h"
#include "shoal/nn/initializers.h"
#include "shoal/nn/mode.h"
#include "shoal/nn/regularizer.h"

namespace shoal::nn {

struct PositionEmbeddingOptions {
  int64_t positions_max = 0;  ///< The longest sequence that the model accepts. 0: the length of x.
  InitializerSpec initializer = normal(0, 0.02);
  bool trainable = true;
  /// The scope of the variable; a second layer gets "position_embedding_1".
  std::string name = "position_embedding";
};

/// Adds to x a learned row for each position, the same in every sequence, since attention ignores order.
///
///   x        [batch, time, features]  float32; time and features are numbers, batch may be a symbol
///   returns  as x
///
/// Adds the variable "<name>/table" [positions_max, features], of which the first `time` rows are used. Raises
/// InvalidArgument if x is not of rank 3, not float32, or longer than positions_max. Source: Gehring et al., "Convolutional
/// sequence to sequence learning" (ICML 2017), section 3.1; Radford et al., GPT-2 (2019).
Value position_embedding(Value x, const PositionEmbeddingOptions& options = {});

struct TransformerBlockOptions {
  int64_t heads = 0;               ///< The number of attention heads, >= 1; divides the features. Must be set.
  int64_t feed_forward_units = 0;  ///< The size of the hidden layer. 0: four times the features.
  /// The dropout rate for the result of each branch in training, in [0, 1).
  double dropout = 0;
  /// True: position i attends to positions 0 to i only, for models that predict the next element.
  bool causal = false;
  /// An int64 [batch]: the number of valid positions of each sequence. None: all. Positions behind them have to be finite, as
  /// in MultiHeadAttentionOptions.
  Value lengths = {};
  Activation activation = Activation::kGelu;
  InitializerSpec kernel_initializer = glorot_uniform();
  /// A penalty on the weights. Heads add this penalty to their loss. Add nn::regularization_loss(graph) to your own loss.
  Regularizer kernel_regularizer = {};
  bool trainable = true;
  std::string name = "block";  ///< The scope of the variables; a second layer gets "block_1".
};

/// Two branches, each added to its own input:
///
///   y = x + dropout(attention(layer_norm(x)))
///   returns y + dropout(dense(activation(dense(layer_norm(y)))))
///
///   x        [batch, time, features]  float32; features is a number, the others may be symbols
///   returns  as x
///
/// Adds, within "<name>/", "layer_norm", "attention" (see multi_head_attention), "layer_norm_1", "feed_forward" [units,
/// features] and "feed_forward_result" [features, units]. Raises InvalidArgument as these layers do.
/// Sources: Vaswani et al., "Attention is all you need" (NeurIPS 2017); normalized before each branch, as in Radford et
/// al., GPT-2 (2019), and Xiong et al., "On layer normalization in the transformer architecture" (ICML 2020).
Value transformer_block(Value x, Mode mode, const TransformerBlockOptions& options);

}  // namespace shoal::nn
