// SPDX-License-Identifier: Apache-2.0
#include "trainable_variables.h"

namespace shoal::nn {

void check_loss(const std::string& who, Value loss) {
  if (!loss.valid()) raise(invalid_argument(who + ": the loss is no value of a graph"));
  bool one_element = loss.dtype() == DType::kFloat32;
  for (const Dim& dim : loss.shape().dims()) one_element = one_element && dim == Dim(1);
  if (one_element) return;
  raise(invalid_argument(who + ": the loss has to be one float32 number, got " + std::string(to_string(loss.dtype())) +
                         " " + to_string(loss.shape()) + "; reduce it first"));
}

std::vector<std::string> trainable_variables(const std::string& who, const Graph& graph) {
  std::vector<std::string> names;
  for (const Variable& variable : graph.variables()) {
    if (variable.trainable) names.push_back(variable.name);
  }
  if (names.empty()) raise(invalid_argument(who + ": the model has no trainable variables"));
  return names;
}

const Variable& trainable_variable(const std::string& who, const Graph& graph, const std::string& name) {
  const Variable* variable = graph.find_variable(name);
  if (variable == nullptr) raise(invalid_argument(who + ": the graph has no variable " + name));
  if (!variable->trainable) raise(invalid_argument(who + ": variable " + name + " is not trainable"));
  return *variable;
}

void raise_no_dependence(const std::string& who, size_t variables) {
  raise(invalid_argument(who + ": the loss depends on none of the " + std::to_string(variables) +
                         " variables to train; is it computed from the model's output?"));
}

void add_moving_averages(Graph& graph, TrainOp& op) {
  for (const MovingAverage& average : graph.moving_averages()) {
    op.updates.push_back(moving_average(average.variable, average.value, average.decay));
  }
}

}  // namespace shoal::nn
