// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A hook that evaluates while it trains, without a checkpoint (CONTRACT HK-11).
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
  std::optional<int64_t> steps = {};  ///< How many batches; None for all until the input ends.
  std::vector<std::shared_ptr<Hook>> hooks{};
  std::optional<std::string> name = {};  ///< Results go to eval_<name>.
  int64_t every_iterations = 100;        ///< The steps of this run between two evaluations, greater than 0.
};

/// Evaluates the variables of the training that it is a hook of, as they are: once when the model is ready, after every
/// `every_iterations` steps, and once at the end, if that was not just then. With 4 of them, 10 steps from 0 are evaluated
/// at the global steps 0, 4, 8 and 10. Training waits meanwhile. Results are written as those of any evaluation, so with
/// train_and_evaluate() give a `name`, or the same steps may have two results in one folder.
///
/// `estimator`: the one that trains; a copy is kept. Raises FailedPrecondition for a task of a cluster with parameter
/// servers, or with more than one trainer, where evaluations are those of an evaluator; InvalidArgument for numbers that
/// are not positive, a null hook, or a name that no folder can have; TypeMismatch without an input function. An evaluation
/// that fails ends the run with its error: NotFound if its model has a variable that is not trained, InvalidArgument if
/// one has another shape there.
std::shared_ptr<Hook> in_memory_evaluator(const Estimator& estimator, InputFn input_fn,
                                          InMemoryEvaluatorOptions options = {});

}  // namespace shoal
