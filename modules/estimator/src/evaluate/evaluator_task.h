// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The evaluator: evaluates the newest checkpoint again and again until the job has ended.
#include "evaluate/evaluating.h"
#include "shoal/checkpoint/end_mark.h"

namespace shoal {

struct EvaluatorOptions {
  const Estimator& estimator;
  const EvalSpec& spec;
  std::optional<int64_t> max_steps;
};

/// Runs the evaluator and returns the metrics of its last evaluation, if it made one. `options` outlives the task.
Task<Result<std::optional<Metrics>>> evaluator_task(Environment& env, const EvaluatorOptions& options);

}  // namespace shoal
