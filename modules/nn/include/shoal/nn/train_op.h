// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What one training step does to the variables: a list of (variable, value, rule), and numbers that depend on the step.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/std_function.h"
#include "shoal/graph/graph.h"
#include "shoal/nn/update_rule.h"

namespace shoal::nn {

/// A part of a gradient: row i of `gradients` belongs to row ids[i] of the variable.
struct RowUpdate {
  Value ids;        ///< [i...], int64 or int32, each a row of the variable.
  Value gradients;  ///< [i..., d...], float32, the variable being [rows, d...].
};

/// One variable's part of a step.
struct VariableUpdate {
  std::string variable;  ///< The full name: "dense/kernel".
  /// A gradient, or the value to assign, add or average; float32, of the variable's shape.
  Value update;
  UpdateRule rule;
  /// Instead of `update`, for rules with a learning rate: the gradient by rows, one entry per lookup. What belongs to one
  /// row is added up first, in order. Then the rule applies to the touched rows alone; all others keep weights and slots
  /// (momentum does not move them on, Adam's moments do not fade). Rows whose sum is all zero count as untouched.
  std::vector<RowUpdate> rows{};
};

/// A number that depends on the step, computed by the trainer and sent with its push: a learning rate, which follows from
/// the global step, or a factor for gradients, which follows from a value of the graph (the norm of all gradients).
struct StepScalar {
  std::string name;  ///< A name for logs and summaries: "learning_rate".
  std::function<double(uint64_t global_step)> at;
  /// One float32 number. If valid, `at` is empty, and the scalar is of_value(this step's number): finite whatever that is.
  Value value = {};
  std::function<double(float value)> of_value = {};
  /// Where `value` is a norm of gradients: of which ("all gradients"), for errors. A training loop makes no update of a step
  /// whose norm is not finite. Empty: it is none, and may be any number.
  std::string norm_of = {};
};

/// A number that depends on the step, and that updates are computed with: one float32 number of the training graph, an input of
/// this name, which is fed with at(the global step before the update), rounded.
struct StepInput {
  std::string name;  ///< The full name of the input.
  std::function<double(uint64_t global_step)> at;
};

/// Rules name their scalars by index (UpdateRule::learning_rate_scalar, gradient_scale_scalar).
struct TrainOp {
  std::vector<VariableUpdate> updates;  ///< They may be empty: a step that only counts.
  std::vector<StepScalar> scalars;
  bool advances_global_step = true;
  std::vector<StepInput> inputs{};  ///< All inputs of the graph that follow from the step.
};

/// A train op from its parts, checked: `nn::train_op({.updates = {nn::assign(v, x)}})`; `nn::train_op({})` only advances
/// the step. Raises InvalidArgument if a variable is unknown or named twice, an update's shape or type is not its
/// variable's, updates belong to different graphs, an update by rows has another rule than an optimizer's or one that needs
/// the whole variable, a rule is invalid, a scalar that it names is not there, a scalar has not exactly one of `at` and
/// `value`, or a step input has no function or is no input of one float32 number.
TrainOp train_op(TrainOp parts);

/// The values that the scalars of `op` follow from, in order of the scalars: what a training program fetches for them.
std::vector<Value> scalar_values(const TrainOp& op);
/// All scalars: at(global_step), or from `fetched`, the numbers of scalar_values(). `scalars` has one element for each.
void compute_scalars(const TrainOp& op, uint64_t global_step, std::span<const float> fetched, std::span<double> scalars);

/// Several train ops as one: all their updates, one global step; a moving average that several have counts once. Raises
/// InvalidArgument as train_op(), and if `parts` is empty.
TrainOp group(std::vector<TrainOp> parts);

// One update each; `variable` is what Graph::variable() returned, anything else raises InvalidArgument.
VariableUpdate assign(Value variable, Value value);
VariableUpdate assign_add(Value variable, Value value);
/// variable -= rate * direction, as SGD with a direction of your own in the place of a gradient. The rate is scalar 0 of the train
/// op: minimize_by() (own_optimizer.h) makes it, or you do.
VariableUpdate descend(Value variable, Value direction);
/// variable = decay * variable + (1 - decay) * value, decay in [0, 1].
VariableUpdate moving_average(Value variable, Value value, double decay);

}  // namespace shoal::nn
