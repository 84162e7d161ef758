// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The evaluator: evaluates the newest checkpoint, again and again, until the job has ended (CONTRACT 8.5).
#include "evaluate/evaluating.h"
#include "shoal/checkpoint/end_mark.h"

namespace shoal {

struct EvaluatorOptions {
  const Estimator& estimator;
  const EvalSpec& spec;
  std::optional<int64_t> max_steps;
};

/// `options` outlives the task. The metrics of the last evaluation, if there was one.
Task<Result<std::optional<Metrics>>> evaluator_task(Environment& env, const EvaluatorOptions& options);

}  // namespace shoal
