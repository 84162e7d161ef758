// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Penalties on the size of weights.
#include "shoal/graph/graph.h"

namespace shoal::nn {

/// l1 * sum |w| + l2 * sum w^2. By default both are 0: no penalty.
struct Regularizer {
  double l1 = 0;
  double l2 = 0;
  friend bool operator==(const Regularizer&, const Regularizer&) = default;
};

/// Adds the penalty on `weights` to its graph's regularization_losses(). Heads add these to the loss; to a loss of your own,
/// add regularization_loss(graph) (losses.h), or the penalties have no effect. Does nothing
/// if both factors are 0; raises InvalidArgument if one is negative or not finite. The derivative of |w| at 0 is 0.
void regularize(Value weights, const Regularizer& regularizer);

}  // namespace shoal::nn
