#pragma once
/// What makes of a loss a train op asks first. `who` begins the sentences.
#include <string>
#include <vector>

#include "shoal/nn/train_op.h"

namespace shoal::nn {

/// Raises InvalidArgument unless it is one float32 number.
void check_loss(const std::string& who, Value loss);
/// The names of all; raises InvalidArgument if there are none.
std::vector<std::string> trainable_variables(const std::string& who, const Graph& graph);
/// Raises InvalidArgument if the graph has none of that name, or it is not trainable.
const Variable& trainable_variable(const std::string& who, const Graph& graph, const std::string& name);
[[noreturn]] void raise_no_dependence(const std::string& who, size_t variables);
/// Adds the updates of the moving averages that layers keep.
void add_moving_averages(Graph& graph, TrainOp& op);

}  // namespace shoal::nn
