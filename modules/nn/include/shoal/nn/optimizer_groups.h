// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Several optimizers for one model, each for a group of its variables.
#include <string>
#include <vector>

#include "shoal/nn/optimizer.h"

namespace shoal::nn {

struct OptimizerGroup {
  std::string pattern;  ///< Which variables: a regular expression of whole names (shoal/graph/name_pattern.h).
  Optimizer optimizer;
};

/// The train op that lowers `loss`, each trainable variable changed by the optimizer of the first group that its name
/// matches. Variables that match none stay as they are. For a head:
///
///   input.train_op = [](shoal::Value loss) {
///     return nn::minimize_by_groups(loss, {{"body/.*", nn::sgd({.learning_rate = 0.001})}, {".*", nn::adam()}});
///   };
///
/// Norms of clipping are taken over the variables of one group. Raises InvalidArgument as Optimizer::minimize(), for a
/// pattern that is no regular expression, and for a group that no variable is left for, with the names that there are.
TrainOp minimize_by_groups(Value loss, const std::vector<OptimizerGroup>& groups);

}  // namespace shoal::nn
