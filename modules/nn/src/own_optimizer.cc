// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/own_optimizer.h"

#include <algorithm>

#include "shoal/base/names_text.h"
#include "trainable_variables.h"

namespace shoal::nn {

namespace {

constexpr char kWho[] = "minimize_by";

using ByStep = std::map<std::string, std::function<double(uint64_t global_step)>>;

std::map<std::string, Value> add_step_inputs(Graph& graph, ByStep functions, TrainOp& op) {
  std::map<std::string, Value> values;
  if (functions.empty()) return values;
  const auto scope = graph.scope("by_step");
  for (auto& [name, at] : functions) {
    const Value input = graph.input(name, DType::kFloat32, {});
    values.emplace(name, input);
    op.inputs.push_back({graph.node(input.node()).name, std::move(at)});
  }
  return values;
}

}  // namespace

Value OwnStep::slot(std::string_view name, double start) const {
  if (name.empty()) raise(invalid_argument("minimize_by: a slot of " + name_ + " has no name"));
  const std::string full = name_ + "/" + std::string(name);
  Graph& graph = variable_.graph();
  if (std::ranges::find(slots_, full) != slots_.end()) return {&graph, graph.find_variable(full)->node, 0};
  if (graph.find_variable(full)) {
    raise(invalid_argument("minimize_by: slot " + full +
                           ": the model has a variable of this name; give the slot another one"));
  }
  const Shape shape = graph.find_variable(name_)->shape;
  const Value slot =
      graph.variable(full, shape, {.initializer = {.kind = Initializer::Kind::kConstant, .a = start}, .trainable = false});
  slots_.push_back(full);
  return slot;
}

Value OwnStep::by_step(const std::string& name) const {
  if (const auto found = by_step_.find(name); found != by_step_.end()) return found->second;
  raise(not_found("minimize_by: there is no number by_step \"" + name +
                  "\"; OwnOptimizerOptions::by_step has: " + (by_step_.empty() ? "none" : names_text(by_step_))));
}

TrainOp minimize_by(Value loss, const OwnRule& rule, OwnOptimizerOptions options) {
  if (!rule) raise(invalid_argument("minimize_by: there is no rule"));
  check_loss(kWho, loss);
  Graph& graph = loss.graph();
  const std::vector<std::string> names = options.variables.empty() ? trainable_variables(kWho, graph) : options.variables;
  std::vector<Value> variables;
  for (const std::string& name : names) {
    variables.emplace_back(&graph, trainable_variable(kWho, graph, name).node, 0);
  }
  const std::vector<Value> gradient_values = gradients(loss, variables);
  TrainOp op;
  op.scalars.push_back(
      {"learning_rate", [rate = std::move(options.learning_rate)](uint64_t step) { return rate.at(step); }});
  const std::map<std::string, Value> by_step = add_step_inputs(graph, std::move(options.by_step), op);
  for (size_t i = 0; i < names.size(); ++i) {
    if (!gradient_values[i].valid()) continue;
    std::vector<VariableUpdate> updates = rule(OwnStep(variables[i], gradient_values[i], names[i], by_step));
    if (updates.empty()) raise(invalid_argument("minimize_by: the rule gives no update for variable " + names[i]));
    std::ranges::move(updates, std::back_inserter(op.updates));
  }
  if (op.updates.empty()) raise_no_dependence(kWho, names.size());
  add_moving_averages(graph, op);
  return train_op(std::move(op));
}

}  // namespace shoal::nn
