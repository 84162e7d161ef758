// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An optimizer of your own, written with ops: a rule that describes the updates of one variable and of the slots beside
/// it. optimizers.h has the built-in ones.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/std_function.h"
#include "shoal/graph/graph.h"
#include "shoal/nn/learning_rate.h"
#include "shoal/nn/train_op.h"

namespace shoal::nn {

/// The arguments of a rule for one variable, as values of the training graph.
class OwnStep {
 public:
  /// `by_step` has to outlive this object; by_step() looks names up in it.
  OwnStep(Value variable, Value gradient, std::string name, const std::map<std::string, Value>& by_step)
      : variable_(variable), gradient_(gradient), name_(std::move(name)), by_step_(by_step) {}
  Value variable() const { return variable_; }       ///< The variable's value before the step.
  Value gradient() const { return gradient_; }       ///< d(loss)/d(variable), for this trainer's batch.
  const std::string& name() const { return name_; }  ///< The variable's full name: "dense/kernel".
  /// A slot: a variable "dense/kernel/<name>" with the shape of the trained one. It is not trainable, is stored beside the
  /// other variables, and is part of checkpoints. Its elements are `start` at first. The same name gives the same slot.
  /// Raises InvalidArgument for an empty name, and if the model has a variable with that name.
  Value slot(std::string_view name, double start = 0) const;
  /// The value of the function with this name in OwnOptimizerOptions::by_step, for the present step: one float32. Raises
  /// NotFound, listing the names, if there is no such function.
  Value by_step(const std::string& name) const;

 private:
  Value variable_, gradient_;
  std::string name_;
  const std::map<std::string, Value>& by_step_;
  mutable std::vector<std::string> slots_;  // Full names.
};

/// Returns the updates of one step: at most one update of the variable, and updates of its slots. Make them with the
/// functions of train_op.h: descend(), assign(), assign_add(), moving_average().
using OwnRule = std::function<std::vector<VariableUpdate>(const OwnStep& step)>;

struct OwnOptimizerOptions {
  LearningRate learning_rate = 0.01;     ///< The rate of descend(). Other updates do not use it.
  std::vector<std::string> variables{};  ///< Full names of the variables to train. Empty: all trainable ones.
  /// Numbers for the rule that depend on the global step before the update (0 for the first), by name: the step itself, a
  /// schedule of your own, a correction for a mean that began at 0. OwnStep::by_step() returns them. They have to be pure
  /// functions, like a LearningRate. A result that is not finite in float32 ends training (InvalidArgument).
  ///
  ///   {.by_step = {{"correction", [](uint64_t step) { return 1 / (1 - std::pow(0.9, double(step + 1))); }}}}
  std::map<std::string, std::function<double(uint64_t global_step)>> by_step = {};
};

/// Makes the train op of an optimizer of your own. `rule` is called once for each trainable variable that the loss depends
/// on. For a head:
///
///   input.train_op = [](shoal::Value loss) {
///     return nn::minimize_by(loss, [](const nn::OwnStep& step) -> std::vector<nn::VariableUpdate> {   // momentum
///       const shoal::Value m = step.slot("m");
///       const shoal::Value next = m * 0.9 + step.gradient();
///       return {nn::assign(m, next), nn::descend(step.variable(), next)};
///     }, {.learning_rate = 0.1});
///   };
///
/// If updates of several trainers make one step (--strategy sync, --replicas), each trainer computes the rule with its own
/// gradient, and the values that they push are averaged before the step is made. So values that depend linearly on the
/// gradient, as here, equal those that one trainer would compute from the mean gradient; any other value is the mean of the
/// trainers' values. Trainers that do not wait for each other (--strategy async) compute with weights that may be outdated:
/// descend() and assign_add() keep the changes that others have made meanwhile, assign() replaces them.
///
/// Gradients are whole, even those of tables that are only looked up. Train such a table with a built-in optimizer, which
/// updates the rows of a batch, and group() both train ops. The train op includes the moving averages of layers. Raises
/// InvalidArgument in the cases of Optimizer::minimize(), for an empty rule or function of the step, and in the cases of
/// train_op() for the updates that the rule returns.
TrainOp minimize_by(Value loss, const OwnRule& rule, OwnOptimizerOptions options = {});

}  // namespace shoal::nn
