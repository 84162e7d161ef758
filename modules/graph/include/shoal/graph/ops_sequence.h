// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ops over sequences: recurrences and attention. A batch of sequences is [n, t, features]: n sequences of t positions;
/// both may be symbols. If sequences differ in length, `lengths` gives the length of each: int64 [n], each in [0, t].
/// Positions behind the end of a sequence are not used and get no gradient. Their elements have to be finite all the same,
/// as the zeros of Dataset::padded_batch() are: matrix products over all positions, such as the gradient of the dense layer
/// before a recurrence, multiply them by 0, and 0 times NaN or infinity is NaN. A length out of range ends the step with
/// InvalidArgument, which names row and value.
#include <string_view>

#include "shoal/graph/graph.h"

namespace shoal::ops {

struct LstmOptions {
  Value initial_hidden = {};  ///< [n, U]. None: zeros.
  Value initial_cell = {};    ///< [n, U]. Set both initial_hidden and initial_cell, or neither.
  Value lengths = {};         ///< The length of each sequence, [n]. None: all sequences have all t positions.
};
struct Lstm {
  Value sequence;     ///< [n, t, U], the hidden state h at every position; 0 behind a sequence's end.
  Value last_hidden;  ///< [n, U], the hidden state h after a sequence's last position.
  Value last_cell;    ///< [n, U], the cell state c after a sequence's last position.
};
/// Long short-term memory with a forget gate. This op computes only the recurrence:
///
///   i, f, g, o = projection[:, t] + h[t-1] recurrent_kernel^T    cut into four, in this order
///   c[t] = sigmoid(f) * c[t-1] + sigmoid(i) * tanh(g)
///   h[t] = sigmoid(o) * tanh(c[t])
///
///   projection        [n, t, 4U]  float32, the inputs' contribution to the four gates: dense(x, kernel, bias), which is
///                     one matrix product for all positions
///   recurrent_kernel  [4U, U]     float32
///
/// Sources: Hochreiter, Schmidhuber, "Long short-term memory" (Neural Computation 1997); Gers, Schmidhuber, Cummins,
/// "Learning to forget" (2000) for the forget gate. The order of the gates and the equations are those of PyTorch and
/// cuDNN.
Lstm lstm(Value projection, Value recurrent_kernel, const LstmOptions& options = {}, std::string_view name = "");

struct GruOptions {
  Value recurrent_bias = {};  ///< [3U]. None: zeros.
  Value initial_hidden = {};  ///< [n, U]. None: zeros.
  Value lengths = {};         ///< The length of each sequence, [n]. None: all sequences have all t positions.
};
struct Gru {
  Value sequence;     ///< [n, t, U], the hidden state h at every position; 0 behind a sequence's end.
  Value last_hidden;  ///< [n, U], the hidden state h after a sequence's last position.
};
/// Gated recurrent units. This op computes only the recurrence:
///
///   r, z, m = projection[:, t]                                   cut into three, in this order
///   a, b, q = h[t-1] recurrent_kernel^T + recurrent_bias         likewise
///   h~ = tanh(m + sigmoid(r + a) * q)
///   h[t] = (1 - sigmoid(z + b)) * h~ + sigmoid(z + b) * h[t-1]
///
///   projection        [n, t, 3U]  float32, the inputs' contribution: dense(x, kernel, bias)
///   recurrent_kernel  [3U, U]     float32
///
/// Source: Cho et al., "Learning phrase representations using RNN encoder-decoder" (EMNLP 2014), in the variant that resets
/// after the product (r * (U h) instead of U (r * h)), so that a step is one product; cuDNN and PyTorch compute this
/// variant, and Keras with reset_after.
Gru gru(Value projection, Value recurrent_kernel, const GruOptions& options = {}, std::string_view name = "");

struct AttentionOptions {
  int64_t heads = 1;  ///< The number of heads, at least 1. The numbers of features must be multiples of it.
  /// True: position i attends to positions 0 to i only. There must be as many queries as keys.
  bool causal = false;
  Value lengths = {};  ///< The number of valid keys of each sequence, [n]. None: all keys are valid.
  /// The factor for scores. 0: 1 / sqrt(features of a head).
  double scale = 0;
};
struct Attention {
  Value result;         ///< [n, t, H * D], the results of the H heads side by side.
  Value probabilities;  ///< [n, H, t, s], how much each position attends to each key.
};
/// Scaled dot-product attention with H heads; the features of head j are the j-th part of the last axis:
///
///   probabilities = softmax(query key^T * scale)    over the keys, for each sequence and head
///   result = probabilities value
///
///   query  [n, t, H * K]  float32
///   key    [n, s, H * K]  float32
///   value  [n, s, H * D]  float32
///
/// A key that `causal` or `lengths` excludes has probability 0; if all keys are excluded, the result is 0. Every query has
/// a result, even one beyond `lengths` in self-attention. Source: Vaswani et al., "Attention is all you need" (NeurIPS
/// 2017), section 3.2.
Attention attention(Value query, Value key, Value value, const AttentionOptions& options = {}, std::string_view name = "");
/// attention() of a sequence to itself. Query, key and value lie side by side in projections [n, t, 3 * H * D], which one
/// dense layer can make.
Attention self_attention(Value projections, const AttentionOptions& options = {}, std::string_view name = "");

}  // namespace shoal::ops
