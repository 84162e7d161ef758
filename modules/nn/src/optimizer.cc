#include "shoal/nn/optimizer.h"

#include "row_lookups.h"

namespace shoal::nn {
namespace {

void check_loss(const std::string& who, Value loss) {
  if (!loss.valid()) raise(invalid_argument(who + ": the loss is no value of a graph"));
  bool one_element = loss.dtype() == DType::kFloat32;
  for (const Dim& dim : loss.shape().dims()) one_element = one_element && dim == Dim(1);
  if (one_element) return;
  raise(invalid_argument(who + ": the loss has to be one float32 number, got " + std::string(to_string(loss.dtype())) +
                         " " + to_string(loss.shape()) + "; reduce it first"));
}

const Variable& trainable_variable(const std::string& who, const Graph& graph, const std::string& name) {
  const Variable* variable = graph.find_variable(name);
  if (variable == nullptr) raise(invalid_argument(who + ": the graph has no variable " + name));
  if (!variable->trainable) raise(invalid_argument(who + ": variable " + name + " is not trainable"));
  return *variable;
}

}  // namespace

Optimizer::Optimizer(std::string name, UpdateRule rule, LearningRate learning_rate)
    : name_(std::move(name)), rule_(rule), learning_rate_(std::move(learning_rate)) {
  if (auto valid = validate(rule_); !valid) raise(std::move(valid).error().with_context(name_));
}

TrainOp Optimizer::minimize(Value loss) const {
  check_loss(name_, loss);
  std::vector<std::string> names;
  for (const Variable& variable : loss.graph().variables()) {
    if (variable.trainable) names.push_back(variable.name);
  }
  if (names.empty()) raise(invalid_argument(name_ + ": the model has no trainable variables"));
  return minimize(loss, names);
}

TrainOp Optimizer::minimize(Value loss, const std::vector<std::string>& variables) const {
  check_loss(name_, loss);
  Graph& graph = loss.graph();
  std::vector<Value> values;
  for (const std::string& name : variables) {
    values.emplace_back(&graph, trainable_variable(name_, graph, name).node, 0);
  }
  // A variable that is only looked up gets the gradients of what was looked up, by rows: a step then costs the rows that
  // its batch touches. Clipping and LAMB need the whole gradient.
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
  if (op.updates.empty()) {
    raise(invalid_argument(name_ + ": the loss depends on none of the " + std::to_string(variables.size()) +
                           " variables to train; is it computed from the model's output?"));
  }
  add_clipping(op);
  for (const MovingAverage& average : graph.moving_averages()) {
    op.updates.push_back(moving_average(average.variable, average.value, average.decay));
  }
  return train_op(std::move(op));
}

}  // namespace shoal::nn
