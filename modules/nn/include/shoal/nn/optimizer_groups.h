// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Several optimizers for one model, each for a group of its variables.
#include <string>
#include <vector>

#include "shoal/nn/optimizer.h"

namespace shoal::nn {

struct OptimizerGroup {
  std::string pattern;  ///< Selects variables: a regular expression that whole names match (shoal/graph/name_pattern.h).
  Optimizer optimizer;
};

/// Makes the train op that lowers `loss`. Each trainable variable is changed by the optimizer of the first group whose
/// pattern its name matches. Variables that match no group stay as they are. For a head:
///
///   input.train_op = [](shoal::Value loss) {
///     return nn::minimize_by_groups(loss, {{"body/.*", nn::sgd({.learning_rate = 0.001})}, {".*", nn::adam()}});
///   };
///
/// Norms for clipping are taken over the variables of one group. Raises InvalidArgument as Optimizer::minimize(), for a
/// pattern that is not a regular expression, and for a group that gets no variable (the error lists the names of the
/// variables).
TrainOp minimize_by_groups(Value loss, const std::vector<OptimizerGroup>& groups);

}  // namespace shoal::nn
