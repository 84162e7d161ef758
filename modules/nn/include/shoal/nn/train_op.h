// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The effect of one training step on the variables: a list of (variable, value, rule), and numbers that depend on the
/// step.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/std_function.h"
#include "shoal/graph/graph.h"
#include "shoal/nn/update_rule.h"

namespace shoal::nn {

/// A part of a gradient in which row i of `gradients` belongs to row ids[i] of the variable.
struct RowUpdate {
  Value ids;        ///< Numbers of rows of the variable: int64 or int32, of any shape [i...].
  Value gradients;  ///< The gradients of these rows: float32 [i..., d...] for a variable [rows, d...].
};

/// The update of one variable in a step.
struct VariableUpdate {
  std::string variable;  ///< The full name: "dense/kernel".
  /// A gradient, or the value to assign, add or average; float32 with the variable's shape.
  Value update;
  UpdateRule rule;
  /// Used instead of `update`, for rules with a learning rate: the gradient by rows, one entry per lookup. Entries for the
  /// same row are added up first, in order. Then the rule is applied to the rows that occur; all others keep weights and
  /// slots (momentum does not move them, Adam's moments do not decay). Rows whose sum is zero in all elements count as
  /// absent.
  std::vector<RowUpdate> rows{};
};

/// A number that depends on the step. The trainer computes it and sends it with its push: a learning rate, which depends on
/// the global step, or a factor for gradients, which depends on a value of the graph (the norm of all gradients).
struct StepScalar {
  std::string name;  ///< The name in summaries: "learning_rate".
  /// Gives finite numbers, and those of a learning rate are not negative.
  std::function<double(uint64_t global_step)> at;
  /// One float32 number of the graph. If set, `at` is empty, and the scalar is of_value(number), which is always finite.
  Value value = {};
  std::function<double(float value)> of_value = {};
  /// If `value` is a norm of gradients: the name of these gradients in errors ("all gradients"). In a step in which this
  /// norm is not finite, a training loop makes no update. Empty: `value` is no norm and may be any number.
  std::string norm_of = {};
};

/// A number that depends on the step and that updates are computed from: an input of the training graph, one float32
/// number. In each step a trainer feeds it with at(the global step before the update), rounded.
struct StepInput {
  std::string name;  ///< The full name of the input.
  std::function<double(uint64_t global_step)> at;
};

/// The updates of a step. Their rules refer to scalars by index (UpdateRule::learning_rate_scalar, gradient_scale_scalar).
struct TrainOp {
  std::vector<VariableUpdate> updates;  ///< Empty: the step only advances the global step.
  std::vector<StepScalar> scalars;
  bool advances_global_step = true;
  std::vector<StepInput> inputs{};  ///< All inputs of the graph that depend on the step.
};

/// Checks the parts of a train op and returns it: `nn::train_op({.updates = {nn::assign(v, x)}})`; `nn::train_op({})` only
/// advances the step. Raises InvalidArgument if a variable is unknown or named twice, an update and its variable differ in
/// shape or type, updates belong to different graphs, an update by rows has a rule that is not an optimizer's or that needs
/// the whole variable, a rule is invalid or refers to a scalar that does not exist, a scalar does not have exactly one of
/// `at` and `value`, or a step input has no function or is not an input of one float32 number.
TrainOp train_op(TrainOp parts);

/// The values that the scalars of `op` depend on, in the order of the scalars. A training program fetches these values.
std::vector<Value> scalar_values(const TrainOp& op);
/// Sets scalars[i] to the number that op.scalars[i] has in this step. `fetched` has the numbers that the values of
/// scalar_values() had in this step, in their order. InvalidArgument, with name and step, if a number is not finite, or if
/// the learning rate of an update is negative; the error of a user's function that throws, as of call_user().
Result<void> compute_scalars(const TrainOp& op, uint64_t global_step, std::span<const float> fetched,
                             std::span<double> scalars);

/// Combines several train ops: all their updates, one global step; a moving average that occurs in several of them counts
/// once. Raises InvalidArgument as train_op(), and if `parts` is empty.
TrainOp group(std::vector<TrainOp> parts);

// These functions return one update each. `variable` has to be a result of Graph::variable(), else they raise
// InvalidArgument.
VariableUpdate assign(Value variable, Value value);
VariableUpdate assign_add(Value variable, Value value);
/// variable -= rate * direction: SGD with a direction of your own instead of a gradient. The rate is scalar 0 of the train
/// op: minimize_by() (own_optimizer.h) adds that scalar, and a train op of your own has to add it itself.
VariableUpdate descend(Value variable, Value direction);
/// variable = decay * variable + (1 - decay) * value, decay in [0, 1]. As in all updates, `value` is what it is before the
/// updates of this step: the average of a weight follows the weight one step behind.
VariableUpdate moving_average(Value variable, Value value, double decay);

}  // namespace shoal::nn
