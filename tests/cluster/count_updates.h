// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A variable that counts the updates that counted.
#include "shoal/estimator/model_fn.h"
#include "shoal/nn/train_op.h"

namespace shoal::testing {

/// Adds 1 to a variable "updates" with each step; a second variable, "one", never changes.
inline nn::TrainOp count_updates(const Features& features) {
  Graph& graph = features.single().graph();
  const Value updates = graph.variable("updates", Shape{1}, {.trainable = false});
  const Value one =
      graph.variable("one", Shape{1}, {.initializer = {Initializer::Kind::kConstant, 1, 0}, .trainable = false});
  return nn::train_op({.updates = {nn::assign_add(updates, one)}});
}

}  // namespace shoal::testing
