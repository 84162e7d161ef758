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

/// Evaluates the current variables of a training run, as a hook of that run: once when the model is ready, after every
/// `every_iterations` steps, and once at the end, unless the last step has just been evaluated. With every 4
/// iterations, 10 steps from 0 are evaluated at the global steps 0, 4, 8 and 10. Training waits meanwhile. Results are
/// written as those of any evaluation, so give a `name` when you use it with train_and_evaluate(), or one folder may
/// hold two results of one step.
///
/// `estimator` is the estimator that trains; the hook keeps a copy. Raises FailedPrecondition in a task of a cluster with
/// parameter servers or with more than one trainer (use an evaluator task there), InvalidArgument for numbers that
/// are not positive, a null hook, or a name that no folder can have, and TypeMismatch without an input function. An
/// evaluation that fails ends the run with its error: NotFound if the evaluated model has a variable that is not trained,
/// InvalidArgument if training has a variable of that name with another shape.
std::shared_ptr<Hook> in_memory_evaluator(const Estimator& estimator, InputFn input_fn,
                                          InMemoryEvaluatorOptions options = {});

}  // namespace shoal
