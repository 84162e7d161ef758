// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Helpers of the functions that make a train op from a loss: they check the loss and look variables up. `who` is the name
/// of the calling function, for errors.
#include <string>
#include <vector>

#include "shoal/nn/train_op.h"

namespace shoal::nn {

/// Raises InvalidArgument unless `loss` is one float32 number.
void check_loss(const std::string& who, Value loss);
/// The names of all trainable variables of `graph`. Raises InvalidArgument if it has none.
std::vector<std::string> trainable_variables(const std::string& who, const Graph& graph);
/// The trainable variable `name`. Raises InvalidArgument if `graph` has no such variable, or it is not trainable.
const Variable& trainable_variable(const std::string& who, const Graph& graph, const std::string& name);
[[noreturn]] void raise_no_dependence(const std::string& who, size_t variables);
/// Adds the updates of the moving averages of layers to `op`.
void add_moving_averages(Graph& graph, TrainOp& op);

}  // namespace shoal::nn
