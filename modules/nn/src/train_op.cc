// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/train_op.h"

#include <algorithm>

#include "shoal/base/environment.h"
#include "shoal/base/finite.h"
#include "shoal/base/format.h"
#include "shoal/graph/source.h"

namespace shoal::nn {
namespace {

/// The variable whose value is `value`; raises InvalidArgument if `value` is no variable.
const Variable& variable_of(Value value, std::string_view who) {
  if (value.valid() && value.output() == 0) {
    const auto& variables = value.graph().variables();
    const auto at = std::ranges::find(variables, value.node(), &Variable::node);
    if (at != variables.end()) return *at;
  }
  raise(invalid_argument(std::string(who) + ": expected a variable, as Graph::variable() returns it"));
}

VariableUpdate push(std::string_view who, Value variable, Value value, UpdateRule rule) {
  return {variable_of(variable, who).name, value, rule};
}

void check_whole(const std::string& who, Value update, const Variable& variable) {
  if (variable.dtype != DType::kFloat32 || update.dtype() != DType::kFloat32) {
    raise(invalid_argument(who + ": the variable is " + std::string(to_string(variable.dtype)) + ", the update " +
                           std::string(to_string(update.dtype())) + "; both have to be float32"));
  }
  if (update.shape() != DimShape(variable.shape)) {
    raise(
        invalid_argument(who + ": has shape " + to_string(update.shape()) + ", the variable " + to_string(variable.shape)));
  }
}

void check_rows(const std::string& who, const VariableUpdate& update, const Graph& graph, const Variable& variable) {
  if (update.update.valid()) raise(invalid_argument(who + ": comes whole and by rows; it can be one of them"));
  if (!uses_learning_rate(update.rule) || needs_whole_variable(update.rule)) {
    raise(invalid_argument(who + ": comes by rows, which the rule " + std::string(to_string(update.rule.kind)) +
                           " does not take"));
  }
  for (const RowUpdate& part : update.rows) {
    if (!part.ids.valid() || !part.gradients.valid()) raise(invalid_argument(who + ": is no value of a graph"));
    if (&part.ids.graph() != &graph || &part.gradients.graph() != &graph) {
      raise(invalid_argument(who + ": belongs to another graph"));
    }
    std::vector<Dim> dims = part.ids.shape().dims();
    for (int axis = 1; axis < variable.shape.rank(); ++axis) dims.emplace_back(variable.shape[axis]);
    const bool ids_fit = part.ids.dtype() == DType::kInt64 || part.ids.dtype() == DType::kInt32;
    if (!ids_fit || variable.dtype != DType::kFloat32 || variable.shape.rank() < 1 ||
        part.gradients.type() != ValueType{DType::kFloat32, DimShape(std::move(dims))}) {
      raise(invalid_argument(who + ": ids " + std::string(to_string(part.ids.dtype())) + " " + to_string(part.ids.shape()) +
                             " and rows " + to_string(part.gradients.shape()) + " do not fit the variable " +
                             to_string(variable.shape)));
    }
  }
}

void check_update(const VariableUpdate& update, const Graph& graph, size_t scalar_count) {
  const std::string who = "train_op: update of " + update.variable;
  const Variable* variable = graph.find_variable(update.variable);
  if (update.rows.empty() && update.update.valid() && &update.update.graph() != &graph) {
    raise(invalid_argument(who + ": belongs to another graph"));
  }
  if (variable == nullptr) raise(invalid_argument(who + ": the graph has no variable of that name"));
  if (update.rows.empty()) {
    check_whole(who, update.update, *variable);
  } else {
    check_rows(who, update, graph, *variable);
  }
  if (auto valid = validate(update.rule); !valid) raise(std::move(valid).error().with_context(who));
  for (int slot = 0; slot < slot_count(update.rule); ++slot) {
    const std::string name = update.variable + "/" + std::string(slot_name(update.rule, slot));
    if (graph.find_variable(name) == nullptr) continue;
    raise(invalid_argument(who + ": its rule keeps the slot " + name +
                           ", and the model has a variable of this name; give the variable another one"));
  }
  const auto check_scalar = [&](std::string_view what, int32_t index) {
    if (size_t(index) < scalar_count) return;
    raise(invalid_argument(who + ": its " + std::string(what) + " is scalar number " + std::to_string(index) +
                           ", but there are only " + std::to_string(scalar_count)));
  };
  if (uses_learning_rate(update.rule)) check_scalar("learning rate", update.rule.learning_rate_scalar);
  if (update.rule.gradient_scale_scalar >= 0) check_scalar("gradient scale", update.rule.gradient_scale_scalar);
}

void check_scalar(const StepScalar& scalar) {
  const std::string who = "train_op: scalar " + scalar.name;
  if (!scalar.value.valid()) {
    if (!scalar.at) raise(invalid_argument(who + " has no function"));
    return;
  }
  if (scalar.at || !scalar.of_value) {
    raise(invalid_argument(who + " follows from a value: it needs of_value and no other function"));
  }
  if (scalar.value.dtype() != DType::kFloat32 || scalar.value.rank() != 0) {
    raise(invalid_argument(who + " follows from one float32 number, not from " +
                           std::string(to_string(scalar.value.dtype())) + " " + to_string(scalar.value.shape())));
  }
}

void check_input(const StepInput& input, const Graph& graph) {
  const std::string who = "train_op: step input " + input.name;
  if (!input.at) raise(invalid_argument(who + " has no function"));
  const auto is_it = [&input](const Node& node) { return node.name == input.name; };
  const auto node = std::ranges::find_if(graph.nodes(), is_it);
  const bool fits = node != graph.nodes().end() && source_of(node->op) == Source::kInput &&
                    node->outputs[0] == ValueType{DType::kFloat32, {}};
  if (!fits) raise(invalid_argument(who + " has to be an input of the graph, of one float32 number"));
}

/// True if `updates` already contain this moving average: each optimizer of a graph adds the moving averages of all layers.
bool is_moving_average_of(const std::vector<VariableUpdate>& updates, const VariableUpdate& update) {
  if (update.rule.kind != UpdateRule::Kind::kMovingAverage) return false;
  return std::ranges::any_of(updates, [&update](const VariableUpdate& other) {
    return other.variable == update.variable && other.update == update.update && other.rule == update.rule;
  });
}

/// True if scalar number `index` is the learning rate of an update.
bool is_learning_rate(const TrainOp& op, size_t index) {
  return std::ranges::any_of(op.updates, [index](const VariableUpdate& update) {
    return uses_learning_rate(update.rule) && size_t(update.rule.learning_rate_scalar) == index;
  });
}

Error refused_scalar(const std::string& name, double number, uint64_t global_step, bool is_rate) {
  const std::string shown = is_nan(number) ? "nan" : shortest_text(number);
  return invalid_argument(name + " is " + shown + " at global step " + std::to_string(global_step) +
                          (is_rate ? "; a rate has to be finite and at least 0" : "; it has to be finite"));
}

}  // namespace

TrainOp train_op(TrainOp parts) {
  for (const StepScalar& scalar : parts.scalars) check_scalar(scalar);
  std::vector<std::string> names;
  const Graph* graph = nullptr;  // The graph of the first update.
  for (const VariableUpdate& update : parts.updates) {
    const Value any = update.rows.empty() ? update.update : update.rows.front().gradients;
    if (!any.valid()) raise(invalid_argument("train_op: update of " + update.variable + ": is no value of a graph"));
    if (graph == nullptr) graph = &any.graph();
    check_update(update, *graph, parts.scalars.size());
    names.push_back(update.variable);
  }
  for (const StepScalar& scalar : parts.scalars) {
    if (!scalar.value.valid() || graph == nullptr || &scalar.value.graph() == graph) continue;
    raise(invalid_argument("train_op: scalar " + scalar.name + " follows from a value of another graph"));
  }
  for (const StepInput& input : parts.inputs) {
    if (graph != nullptr) check_input(input, *graph);
  }
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
    raise(invalid_argument("train_op: variable " + *twice + " is updated twice in one step"));
  }
  return parts;
}

TrainOp group(std::vector<TrainOp> parts) {
  if (parts.empty()) raise(invalid_argument("group: no train ops were given"));
  TrainOp all{.updates = {}, .scalars = {}, .advances_global_step = false, .inputs = {}};
  for (TrainOp& part : parts) {
    for (VariableUpdate& update : part.updates) {
      if (is_moving_average_of(all.updates, update)) continue;
      if (uses_learning_rate(update.rule)) update.rule.learning_rate_scalar += int32_t(all.scalars.size());
      if (update.rule.gradient_scale_scalar >= 0) update.rule.gradient_scale_scalar += int32_t(all.scalars.size());
      all.updates.push_back(std::move(update));
    }
    std::ranges::move(part.scalars, std::back_inserter(all.scalars));
    std::ranges::move(part.inputs, std::back_inserter(all.inputs));
    all.advances_global_step = all.advances_global_step || part.advances_global_step;
  }
  return train_op(std::move(all));
}

std::vector<Value> scalar_values(const TrainOp& op) {
  std::vector<Value> values;
  for (const StepScalar& scalar : op.scalars) {
    if (scalar.value.valid()) values.push_back(scalar.value);
  }
  return values;
}

Result<void> compute_scalars(const TrainOp& op, uint64_t global_step, std::span<const float> fetched,
                             std::span<double> scalars) {
  SHOAL_CHECK(scalars.size() == op.scalars.size());
  size_t next = 0;
  for (size_t i = 0; i < scalars.size(); ++i) {
    const StepScalar& scalar = op.scalars[i];
    const auto compute = [&] { return scalar.value.valid() ? scalar.of_value(fetched[next++]) : scalar.at(global_step); };
    SHOAL_TRY(scalars[i], call_user(scalar.name, compute));
    if (is_finite(scalars[i]) && scalars[i] >= 0) continue;
    const bool is_rate = is_learning_rate(op, i);
    if (is_rate || !is_finite(scalars[i])) return refused_scalar(scalar.name, scalars[i], global_step, is_rate);
  }
  SHOAL_CHECK(next == fetched.size());
  return {};
}

VariableUpdate assign(Value variable, Value value) {
  return push("assign", variable, value, {.kind = UpdateRule::Kind::kAssign});
}

VariableUpdate assign_add(Value variable, Value value) {
  return push("assign_add", variable, value, {.kind = UpdateRule::Kind::kAdd});
}

VariableUpdate descend(Value variable, Value direction) {
  return push("descend", variable, direction, {.kind = UpdateRule::Kind::kSgd});
}

VariableUpdate moving_average(Value variable, Value value, double decay) {
  return push("moving_average", variable, value, {.kind = UpdateRule::Kind::kMovingAverage, .constants = {decay}});
}

}  // namespace shoal::nn
