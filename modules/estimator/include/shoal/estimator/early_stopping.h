// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Early stopping: hooks that end training once the results of evaluations no longer improve, or reach a threshold.
///
///   .hooks = {shoal::stop_if_no_decrease("loss", 2000)}  // Ends when the loss has not been better for 2,000 steps.
///
/// The hooks read the event files that evaluations write, so any task may make the evaluations. Results of earlier runs in
/// the folder count too. A hook looks at the results after the first step and then at an interval. It also looks after each
/// evaluation that its own task makes (in local mode, as a master, by in_memory_evaluator()) and after each checkpoint that
/// its task writes, so that a job shorter than the interval can be stopped as well.
///
/// In a cluster all tasks may have the hook, but only the chief's hook decides. Its decision ends the job as any stop
/// request of the chief does: each worker stops after its current step, the chief writes the last checkpoint and the end
/// mark (reason stop_requested), and an evaluator ends with that checkpoint. Checkpoints do not contain the decision: a job
/// that is started again trains until its chief decides again, after its first step.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "shoal/base/std_function.h"
#include "shoal/estimator/exporter.h"
#include "shoal/estimator/hook.h"

namespace shoal {

/// The metrics of evaluations (with `loss`) by global step. Values have the precision of float32, because event files store
/// them so.
using EvaluationHistory = std::map<int64_t, Metrics>;

struct EarlyStoppingOptions {
  /// The folder whose event files are read. Default: the folder of the evaluations without a name. For evaluations with a
  /// name use Estimator::eval_dir(name).
  std::optional<std::string> eval_dir = {};
  /// Results of evaluations before this global step are ignored. At least 0.
  int64_t min_steps = 0;
  /// The time between two reads of the results, in seconds; None if run_every_steps is set. The first read comes after the
  /// chief's first step.
  std::optional<double> run_every_secs = 60;
  /// The global steps between two reads of the results. Each read covers all event files of eval_dir.
  std::optional<int64_t> run_every_steps = {};
};

// All functions raise InvalidArgument for an empty metric, a threshold that is NaN, a number of steps that is not positive,
// and a negative min_steps. Exactly one of run_every_secs and run_every_steps has to be set, to a value greater than 0;
// anything else is InvalidArgument, too. A result that lacks the metric is skipped, with one warning. If an event file is
// damaged, the results behind the damage are skipped, too. If a folder cannot be read, the hook warns and tries again after
// the next interval.

/// Stops once any result of `metric` is greater than `threshold`.
std::shared_ptr<Hook> stop_if_higher(std::string metric, double threshold, EarlyStoppingOptions options = {});
/// Stops once any result of `metric` is less than `threshold`.
std::shared_ptr<Hook> stop_if_lower(std::string metric, double threshold, EarlyStoppingOptions options = {});

/// Stops at a result that is not higher than the highest one so far, if at least `max_steps_without` global steps lie
/// between the two. Results of earlier runs count: if the metric had already stopped rising before the job was started
/// again, the job stops after its first step.
std::shared_ptr<Hook> stop_if_no_increase(std::string metric, int64_t max_steps_without, EarlyStoppingOptions options = {});
/// Like stop_if_no_increase(), for a metric that should fall.
std::shared_ptr<Hook> stop_if_no_decrease(std::string metric, int64_t max_steps_without, EarlyStoppingOptions options = {});

/// Stops once `should_stop` returns true. The hook calls this function each time it has read the event files, with the
/// results of all evaluations at steps >= min_steps (maybe none). An exception of `should_stop` ends the run. Raises
/// InvalidArgument for an empty function.
std::shared_ptr<Hook> stop_if(std::function<bool(const EvaluationHistory&)> should_stop, EarlyStoppingOptions options = {});

}  // namespace shoal
