// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Recurrent layers for sequences. ops::lstm and ops::gru (shoal/graph/ops_sequence.h) have the equations and the order of
/// the gates.
#include <cstdint>
#include <string>

#include "shoal/graph/graph.h"
#include "shoal/graph/ops_sequence.h"
#include "shoal/nn/initializers.h"
#include "shoal/nn/regularizer.h"

namespace shoal::nn {

struct LstmOptions {
  int64_t units = 0;  ///< The size of the state, >= 1. There is no default.
  /// An int64 [batch]: the number of valid positions of each sequence. None: all. Positions behind them do not change the
  /// results, but have to be finite: a NaN there can make the gradient of the kernel NaN.
  Value lengths = {};
  Value initial_hidden = {};  ///< A float32 [batch, units]. None: zeros.
  Value initial_cell = {};    ///< A float32 [batch, units], given if and only if initial_hidden is.
  /// Added to the forget gate beside its bias, so that a new layer remembers. Source: Jozefowicz, Zaremba, Sutskever, "An
  /// empirical exploration of recurrent network architectures" (ICML 2015). Use 0 for weights of another library.
  double forget_bias = 1;
  InitializerSpec kernel_initializer = glorot_uniform();
  InitializerSpec recurrent_initializer = glorot_uniform();
  InitializerSpec bias_initializer = zeros();
  /// Penalties on the weights. Heads add these penalties to their loss. Add nn::regularization_loss(graph) to your own loss.
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  bool trainable = true;
  std::string name = "lstm";  ///< The scope of the variables; a second layer gets "lstm_1".
};

/// A layer of long short-term memory.
///
///   x        [batch, time, inputs]  float32; inputs is a number, the others may be symbols
///   returns  sequence [batch, time, units], last_hidden and last_cell [batch, units]; float32
///
/// Adds variables "<name>/kernel" [4 * units, inputs], "<name>/recurrent_kernel" [4 * units, units], "<name>/bias" [4 *
/// units]; gates in the order input, forget, candidate, output. Raises InvalidArgument if x is not of rank 3, not float32,
/// or units < 1, and as ops::lstm. A length out of range ends the step with InvalidArgument, naming row and value.
ops::Lstm lstm(Value x, const LstmOptions& options);

struct GruOptions {
  int64_t units = 0;  ///< The size of the state, >= 1. There is no default.
  /// An int64 [batch]: the number of valid positions of each sequence. None: all. Positions behind them do not change the
  /// results, but have to be finite: a NaN there can make the gradient of the kernel NaN.
  Value lengths = {};
  Value initial_hidden = {};  ///< A float32 [batch, units]. None: zeros.
  InitializerSpec kernel_initializer = glorot_uniform();
  InitializerSpec recurrent_initializer = glorot_uniform();
  InitializerSpec bias_initializer = zeros();
  /// Penalties on the weights. Heads add these penalties to their loss. Add nn::regularization_loss(graph) to your own loss.
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  bool trainable = true;
  std::string name = "gru";  ///< The scope of the variables; a second layer gets "gru_1".
};

/// A layer of gated recurrent units, with the reset gate applied after the product.
///
///   x        [batch, time, inputs]  float32; inputs is a number, the others may be symbols
///   returns  sequence [batch, time, units], last_hidden [batch, units]; float32
///
/// Adds variables "<name>/kernel" [3 * units, inputs], "<name>/recurrent_kernel" [3 * units, units], "<name>/bias" and
/// "<name>/recurrent_bias" [3 * units]; gates in the order reset, update, candidate. Raises InvalidArgument as lstm().
ops::Gru gru(Value x, const GruOptions& options);

}  // namespace shoal::nn
