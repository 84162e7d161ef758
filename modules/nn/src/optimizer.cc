// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/optimizer.h"

#include "row_lookups.h"
#include "trainable_variables.h"

namespace shoal::nn {

Optimizer::Optimizer(std::string name, UpdateRule rule, LearningRate learning_rate)
    : name_(std::move(name)), rule_(rule), learning_rate_(std::move(learning_rate)) {
  if (auto valid = validate(rule_); !valid) raise(std::move(valid).error().with_context(name_));
}

TrainOp Optimizer::minimize(Value loss) const {
  check_loss(name_, loss);
  return minimize(loss, trainable_variables(name_, loss.graph()));
}

TrainOp Optimizer::minimize(Value loss, const std::vector<std::string>& variables) const {
  check_loss(name_, loss);
  Graph& graph = loss.graph();
  std::vector<Value> values;
  for (const std::string& name : variables) {
    values.emplace_back(&graph, trainable_variable(name_, graph, name).node, 0);
  }
  // If the loss reads a variable only through look-ups of rows, computes the gradients of these rows only, so that the cost
  // of a step depends only on the rows that its batch uses. Clipping and LAMB need the whole gradient.
  const bool may_come_by_rows = clip_ == Clip::kNone && !needs_whole_variable(rule_);
  const std::vector<std::vector<NodeId>> lookups =
      may_come_by_rows ? lookups_of(loss, values) : std::vector<std::vector<NodeId>>(values.size());
  std::vector<Value> wrt;
  for (size_t i = 0; i < values.size(); ++i) {
    if (lookups[i].empty()) wrt.push_back(values[i]);
    for (NodeId lookup : lookups[i]) wrt.emplace_back(&graph, lookup, 0);
  }
  const std::vector<Value> gradient_values = gradients(loss, wrt);

  TrainOp op;
  UpdateRule rule = rule_;
  rule.learning_rate_scalar = 0;
  op.scalars.push_back({"learning_rate", [rate = learning_rate_](uint64_t step) { return rate.at(step); }});
  auto gradient = gradient_values.begin();
  for (size_t i = 0; i < variables.size(); ++i) {
    VariableUpdate update{.variable = variables[i], .update = {}, .rule = rule};
    if (lookups[i].empty()) update.update = *gradient++;
    for (NodeId lookup : lookups[i]) {
      if (gradient->valid()) update.rows.push_back({graph.node(lookup).inputs[1], *gradient});
      ++gradient;
    }
    if (update.update.valid() || !update.rows.empty()) op.updates.push_back(std::move(update));
  }
  if (op.updates.empty()) raise_no_dependence(name_, variables.size());
  add_clipping(op);
  add_moving_averages(graph, op);
  return train_op(std::move(op));
}

}  // namespace shoal::nn
