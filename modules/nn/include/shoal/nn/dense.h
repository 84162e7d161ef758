// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The fully connected layer.
#include <cstdint>
#include <string>

#include "shoal/graph/graph.h"
#include "shoal/nn/activation.h"
#include "shoal/nn/initializers.h"
#include "shoal/nn/regularizer.h"

namespace shoal::nn {

struct DenseOptions {
  int64_t units = 0;  ///< The number of outputs, >= 1. There is no default.
  Activation activation = Activation::kNone;
  bool use_bias = true;
  InitializerSpec kernel_initializer = glorot_uniform();
  InitializerSpec bias_initializer = zeros();
  /// Penalties on the weights. Heads add these penalties to their loss. Add nn::regularization_loss(graph) to your own loss.
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  bool trainable = true;
  std::string name = "dense";  ///< The scope of the variables; a second layer gets "dense_1".
};

/// activation(x * kernel^T + bias) along the last axis: each position of a sequence [batch, time, inputs] separately.
///
///   x        [batch, ..., inputs]  float32, of rank 2 or more; inputs is a number, the others may be symbols
///   returns  [batch, ..., units]   float32
///
/// Adds variables "<name>/kernel" [units, inputs] and, with use_bias, "<name>/bias" [units]. Raises InvalidArgument if
/// x is of rank 1 or 0, not float32, or units < 1.
Value dense(Value x, const DenseOptions& options);

}  // namespace shoal::nn
