// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Checks that each function which makes a train op of a loss begins with. `who` names that function in error sentences.
#include <string>
#include <vector>

#include "shoal/nn/train_op.h"

namespace shoal::nn {

/// Raises InvalidArgument unless `loss` is one float32 number.
void check_loss(const std::string& who, Value loss);
/// The names of all trainable variables of `graph`. Raises InvalidArgument if it has none.
std::vector<std::string> trainable_variables(const std::string& who, const Graph& graph);
/// The trainable variable `name`. Raises InvalidArgument if `graph` has no variable of that name, or one that is not trainable.
const Variable& trainable_variable(const std::string& who, const Graph& graph, const std::string& name);
[[noreturn]] void raise_no_dependence(const std::string& who, size_t variables);
/// Adds to `op` the updates of the moving averages that layers keep.
void add_moving_averages(Graph& graph, TrainOp& op);

}  // namespace shoal::nn
