// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Activations: element-wise functions that are applied after a layer.
#include <cstdint>

#include "shoal/graph/graph.h"

namespace shoal::nn {

/// The numbers of activations are stored in graph descriptions and never change.
enum class Activation : uint8_t {
  kNone = 0,
  kRelu = 1,
  kSigmoid = 2,
  kTanh = 3,
  kSoftplus = 4,
  kLeakyRelu = 5,  ///< Uses the default alpha, as kElu does.
  kElu = 6,
  kGelu = 7,
  kGeluTanh = 8,
  kSilu = 9,
};

// All functions below take float32 of any shape and return float32 of the same shape. NaN stays NaN.

/// max(x, 0). The gradient at 0 is 0.
Value relu(Value x);
/// 1 / (1 + e^-x).
Value sigmoid(Value x);
Value tanh(Value x);
/// log(1 + e^x).
Value softplus(Value x);
/// x for x above 0, else alpha * x. Raises InvalidArgument unless alpha is finite and >= 0. The gradient at 0 is alpha.
Value leaky_relu(Value x, double alpha = 0.01);
/// x for x above 0, else alpha * (e^x - 1). Raises InvalidArgument unless alpha is finite and >= 0.
/// Source: Clevert, Unterthiner, Hochreiter, "Fast and accurate deep network learning by exponential linear units" (2016).
Value elu(Value x, double alpha = 1);
/// x Phi(x), where Phi is the distribution function of the normal distribution; kGeluTanh is its approximation by a
/// hyperbolic tangent, which GPT-2 uses. Source: Hendrycks, Gimpel, "Gaussian error linear units" (2016).
Value gelu(Value x);
Value gelu_tanh(Value x);
/// x * sigmoid(x), also called swish. Source: Elfwing, Uchibe, Doya, "Sigmoid-weighted linear units" (2018).
Value silu(Value x);
/// e^x / sum(e^x) over the last axis; rank >= 1. The maximum is subtracted first.
Value softmax(Value x);
/// Applies `activation` to x; kNone returns x itself. Raises InvalidArgument for a number that is no Activation.
Value activate(Value x, Activation activation);

}  // namespace shoal::nn
