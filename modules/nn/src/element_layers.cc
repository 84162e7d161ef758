// SPDX-License-Identifier: Apache-2.0
// Layers without weights: activations, flatten, dropout, and penalties.
#include <cmath>

#include "shoal/graph/ops.h"
#include "shoal/nn/activation.h"
#include "shoal/nn/dropout.h"
#include "shoal/nn/flatten.h"
#include "shoal/nn/regularizer.h"

namespace shoal::nn {

Value relu(Value x) { return ops::relu(x); }
Value sigmoid(Value x) { return ops::sigmoid(x); }
Value tanh(Value x) { return ops::tanh(x); }
Value softplus(Value x) { return ops::softplus(x); }
Value leaky_relu(Value x, double alpha) { return ops::leaky_relu(x, alpha); }
Value elu(Value x, double alpha) { return ops::elu(x, alpha); }
Value gelu(Value x) { return ops::gelu(x); }
Value gelu_tanh(Value x) { return ops::gelu(x, ops::GeluForm::kTanh); }
Value silu(Value x) { return ops::silu(x); }
Value softmax(Value x) { return ops::softmax(x); }

Value activate(Value x, Activation activation) {
  switch (activation) {
    case Activation::kNone: return x;
    case Activation::kRelu: return relu(x);
    case Activation::kSigmoid: return sigmoid(x);
    case Activation::kTanh: return tanh(x);
    case Activation::kSoftplus: return softplus(x);
    case Activation::kLeakyRelu: return leaky_relu(x);
    case Activation::kElu: return elu(x);
    case Activation::kGelu: return gelu(x);
    case Activation::kGeluTanh: return gelu_tanh(x);
    case Activation::kSilu: return silu(x);
  }
  raise(invalid_argument("unknown activation " + std::to_string(int(activation))));
}

Value flatten(Value x) { return ops::flatten(x); }

Value dropout(Value x, Mode mode, const DropoutOptions& options) {
  if (!(options.rate >= 0 && options.rate < 1)) {
    raise(invalid_argument(options.name + ": rate is " + std::to_string(options.rate) + ", expected a number in [0, 1)"));
  }
  if (mode != Mode::kTrain || options.rate == 0) return x;
  return ops::dropout(x, options.rate, options.name);
}

void regularize(Value weights, const Regularizer& regularizer) {
  for (const double factor : {regularizer.l1, regularizer.l2}) {
    if (!(factor >= 0 && std::isfinite(factor))) {
      raise(invalid_argument("regularizer: factor is " + std::to_string(factor) + ", expected a finite number >= 0"));
    }
  }
  auto& losses = weights.graph().regularization_losses();
  if (regularizer.l1 > 0) {
    losses.push_back(ops::scale(ops::reduce_sum(ops::abs(weights)), regularizer.l1));
  }
  if (regularizer.l2 > 0) losses.push_back(ops::scale(ops::reduce_sum(ops::square(weights)), regularizer.l2));
}

}  // namespace shoal::nn
