// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The one call: trains and evaluates, in every role, on one core or on a cluster.
#include <optional>
#include <string>
#include <vector>

#include "shoal/estimator/estimator.h"
#include "shoal/estimator/eval_spec.h"
#include "shoal/estimator/task_report.h"
#include "shoal/estimator/train_spec.h"

namespace shoal {

/// What the last evaluation gave, in local mode; in a cluster's tasks there is only the report.
struct TrainAndEvaluateResult {
  std::optional<Metrics> metrics = {};
  /// Folders by exporter, in order; nothing where an export was skipped.
  std::vector<std::optional<std::string>> exports{};
  /// What this task knows at its end, in every role; empty where it was interrupted before it had begun.
  TaskReport report = {};
};

/// Which procedure runs is decided by estimator.config(): local (trains here and evaluates after checkpoints), chief,
/// master (a chief that also evaluates, after checkpoints), worker, parameter server or evaluator. Raises
/// shoal::Exception; arguments are checked before any file is written or port opened. Its kind is Cancelled where the task
/// gave way (OnSigterm::kLeave): what was trained is saved, hooks have not heard of an end(), and the program should end with
/// status 143, as shoal::run() does.
TrainAndEvaluateResult train_and_evaluate(Estimator& estimator, TrainSpec train_spec, EvalSpec eval_spec);
/// The same with errors as values, for programs that are built without exceptions (docs/errors.md).
Result<TrainAndEvaluateResult> try_train_and_evaluate(Estimator& estimator, TrainSpec train_spec, EvalSpec eval_spec);

}  // namespace shoal
