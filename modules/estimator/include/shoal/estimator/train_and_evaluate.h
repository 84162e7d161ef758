// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The one call that trains and evaluates, in every role, on one core or on a cluster.
#include <optional>
#include <string>
#include <vector>

#include "shoal/estimator/estimator.h"
#include "shoal/estimator/eval_spec.h"
#include "shoal/estimator/task_report.h"
#include "shoal/estimator/train_spec.h"

namespace shoal {

/// The results of the last evaluation, in local mode. In a task of a cluster only `report` is set.
struct TrainAndEvaluateResult {
  std::optional<Metrics> metrics = {};
  /// The folder that each exporter wrote, in the order of the exporters; nothing for a skipped export.
  std::vector<std::optional<std::string>> exports{};
  /// The report of this task at its end, in every role; empty if the task was interrupted before its run began.
  TaskReport report = {};
};

/// Trains and evaluates. estimator.config() decides which procedure runs: local (trains here and evaluates after
/// checkpoints), chief, master (a chief that also evaluates after checkpoints), worker, parameter server or evaluator.
///
/// If the training input is empty, this function logs a warning, makes no step, and evaluates the starting model once. If
/// the evaluation input is empty, the task that evaluates ends with InvalidArgument; if both are, so does the task that
/// trains.
///
/// Raises shoal::Exception. Arguments are checked before any file is written or port opened. The kind is Cancelled if
/// the task has to stop and will be started again (OnSigterm::kLeave): the training state is saved, end() of the hooks
/// has not been called, and the program should end with status 143, as shoal::run() does.
TrainAndEvaluateResult train_and_evaluate(Estimator& estimator, TrainSpec train_spec, EvalSpec eval_spec);
/// train_and_evaluate() with errors as values, for programs that are built without exceptions (docs/errors.md).
Result<TrainAndEvaluateResult> try_train_and_evaluate(Estimator& estimator, TrainSpec train_spec, EvalSpec eval_spec);

}  // namespace shoal
