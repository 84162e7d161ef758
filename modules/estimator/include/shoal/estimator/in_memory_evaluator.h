// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A hook that evaluates the weights in memory while they are trained, without a checkpoint.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/estimator/estimator.h"
#include "shoal/estimator/hook.h"
#include "shoal/estimator/input_fn.h"

namespace shoal {

struct InMemoryEvaluatorOptions {
  std::optional<int64_t> steps = {};  ///< How many batches to evaluate; None: until the input ends.
  std::vector<std::shared_ptr<Hook>> hooks{};
  std::optional<std::string> name = {};  ///< Results go to the folder eval_<name>; without a name, to eval.
  int64_t every_iterations = 100;        ///< The steps of this run between two evaluations, greater than 0.
};

/// A hook that evaluates the current variables of its training run: once when the model is ready, after every
/// `every_iterations` steps, and once at the end, unless the last step has just been evaluated. For example, with
/// every_iterations = 4 a run from global step 0 to 10 is evaluated at the steps 0, 4, 8 and 10. Training waits for each
/// evaluation. Results are written as those of any evaluation. So give a `name` when you use this hook with
/// train_and_evaluate(); otherwise one folder may hold two results of one step.
///
/// `estimator` is the estimator that trains; the hook keeps a copy. Raises FailedPrecondition in a task of a cluster with
/// parameter servers or with more than one trainer (use an evaluator task there), InvalidArgument for `steps` or
/// `every_iterations` below 1, a null hook, or a name that no folder can have, and TypeMismatch without an input_fn. An
/// evaluation that fails ends the run with its error: NotFound if the evaluated model has a variable that is not trained,
/// InvalidArgument if training has a variable of that name with another shape.
std::shared_ptr<Hook> in_memory_evaluator(const Estimator& estimator, InputFn input_fn,
                                          InMemoryEvaluatorOptions options = {});

}  // namespace shoal
