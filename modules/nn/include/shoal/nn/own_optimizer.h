// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An optimizer of your own, written with ops: a rule that says for one variable what becomes of it and of what is kept beside
/// it. Shoal's own optimizers: optimizers.h.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/std_function.h"
#include "shoal/graph/graph.h"
#include "shoal/nn/learning_rate.h"
#include "shoal/nn/train_op.h"

namespace shoal::nn {

/// What a rule is given for one variable. Values of the training graph.
class OwnStep {
 public:
  /// `by_step`, which outlives it: what by_step() finds.
  OwnStep(Value variable, Value gradient, std::string name, const std::map<std::string, Value>& by_step)
      : variable_(variable), gradient_(gradient), name_(std::move(name)), by_step_(by_step) {}
  Value variable() const { return variable_; }       ///< Its value before the step.
  Value gradient() const { return gradient_; }       ///< d(loss)/d(variable), of this trainer's batch.
  const std::string& name() const { return name_; }  ///< The variable's full name: "dense/kernel".
  /// A slot: a variable "dense/kernel/<name>" of this one's shape, which is not trained, lives where variables live, and is
  /// part of checkpoints. Its elements start at `start`. The same name gives the same slot. Raises InvalidArgument for an
  /// empty name, and where the model has a variable of that name.
  Value slot(std::string_view name, double start = 0) const;
  /// The number that OwnOptimizerOptions::by_step has of this name for the step at hand: one float32, in each step another.
  /// Raises NotFound, listing the names, if there is none.
  Value by_step(const std::string& name) const;

 private:
  Value variable_, gradient_;
  std::string name_;
  const std::map<std::string, Value>& by_step_;
  mutable std::vector<std::string> slots_;  // Full names.
};

/// The updates of one step: of the variable, at most one, and of its slots. Any of train_op.h: descend(), assign(),
/// assign_add(), moving_average().
using OwnRule = std::function<std::vector<VariableUpdate>(const OwnStep& step)>;

struct OwnOptimizerOptions {
  LearningRate learning_rate = 0.01;     ///< The rate of descend(). Of no use to other updates.
  std::vector<std::string> variables{};  ///< Full names of what is trained. Empty: all that can be.
  /// Numbers that the rule computes with and that follow from the global step before the update (0 for the first), by name:
  /// the step itself, a schedule of your own, a correction of a mean that began at 0. OwnStep::by_step() gives them. Pure
  /// functions, as a LearningRate is one; a number that float32 does not hold as a finite one ends training (InvalidArgument).
  ///
  ///   {.by_step = {{"correction", [](uint64_t step) { return 1 / (1 - std::pow(0.9, double(step + 1))); }}}}
  std::map<std::string, std::function<double(uint64_t global_step)>> by_step = {};
};

/// The train op of an optimizer of your own: `rule` is called once for each trainable variable that the loss depends on.
/// For a head:
///
///   input.train_op = [](shoal::Value loss) {
///     return nn::minimize_by(loss, [](const nn::OwnStep& step) -> std::vector<nn::VariableUpdate> {   // momentum
///       const shoal::Value m = step.slot("m");
///       const shoal::Value next = m * 0.9 + step.gradient();
///       return {nn::assign(m, next), nn::descend(step.variable(), next)};
///     }, {.learning_rate = 0.1});
///   };
///
/// Where updates of several trainers make one step (--strategy sync, --replicas), each computes the rule with its own
/// gradient, and the values that they push are averaged before the step is made: what depends linearly on
/// the gradient, as here, is what one trainer would compute with the mean gradient, and anything else is the mean of what
/// they compute. Trainers that do not wait for each other (--strategy async) assign what follows from weights that may be
/// older: descend() and assign_add() keep what others did meanwhile, assign() replaces it.
///
/// Gradients come whole, also those of tables that are only looked up: train such a table by an optimizer of Shoal's, which
/// updates the rows of a batch, and group() both train ops. The moving averages that layers keep are part of the train op.
/// Raises InvalidArgument where Optimizer::minimize() does, for an empty rule or function of the step, and where train_op() does for what the rule
/// gives.
TrainOp minimize_by(Value loss, const OwnRule& rule, OwnOptimizerOptions options = {});

}  // namespace shoal::nn
