// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Early stopping: hooks that end training once evaluations say that going on does not pay (CONTRACT HK-12).
///
///   .hooks = {shoal::stop_if_no_decrease("loss", 2000)}  // Ends when the loss has not been better for 2,000 steps.
///
/// They read what evaluations have written, so it is all the same who evaluates; results of earlier runs in the folder
/// count too. They look after the first step, then at an interval, and in between after each evaluation that the task
/// itself makes (in local mode, as a master, by in_memory_evaluator()) and after each checkpoint that it writes: jobs that
/// are shorter than the interval are stopped too.
///
/// In a cluster all tasks may have the hook: that of the chief decides, those of other trainers do nothing. When
/// it has decided the job ends as by any stop request of the chief: each worker stops after its current step, the chief
/// writes the last checkpoint and the end mark (reason stop_requested), and an evaluator ends with that checkpoint.
/// Checkpoints know nothing of it: a job that is started again trains until its chief decides again, after its first step.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "shoal/base/std_function.h"
#include "shoal/estimator/exporter.h"
#include "shoal/estimator/hook.h"

namespace shoal {

/// Results of evaluations by global step: the metrics, `loss` among them. Values are those of float32 numbers, as event
/// files have them.
using EvaluationHistory = std::map<int64_t, Metrics>;

struct EarlyStoppingOptions {
  /// The folder of the evaluations. Default: that of evaluations without a name. For one with a name: that of
  /// Estimator::eval_dir(name).
  std::optional<std::string> eval_dir = {};
  /// Results of smaller global steps are ignored; at least 0.
  int64_t min_steps = 0;
  /// The interval of looks in seconds; None for looks by steps. The first look is after the chief's first step.
  std::optional<double> run_every_secs = 60;
  /// The interval of looks in global steps. A look reads all event files of eval_dir.
  std::optional<int64_t> run_every_steps = {};
};

// All raise InvalidArgument for an empty metric, a threshold that is NaN, a number of steps that is not positive, a
// negative min_steps, and unless exactly one of run_every_secs and run_every_steps is set, to more than 0. A result that
// lacks the metric is skipped, with one warning; so is what follows the damage in a damaged file. A folder that cannot be
// read is warned about, and looked at again after the interval.

/// Stops once any result of `metric` is greater than `threshold`.
std::shared_ptr<Hook> stop_if_higher(std::string metric, double threshold, EarlyStoppingOptions options = {});
/// Stops once any result of `metric` is less than `threshold`.
std::shared_ptr<Hook> stop_if_lower(std::string metric, double threshold, EarlyStoppingOptions options = {});

/// Stops once some result is `max_steps_without` global steps, or more, after the highest until then; an equal one is no
/// increase. Old results count: what stood still for so long before a job was started again stops it after its first step.
std::shared_ptr<Hook> stop_if_no_increase(std::string metric, int64_t max_steps_without, EarlyStoppingOptions options = {});
/// The same, of a metric that ought to fall.
std::shared_ptr<Hook> stop_if_no_decrease(std::string metric, int64_t max_steps_without, EarlyStoppingOptions options = {});

/// Stops once `should_stop` says so, which is asked at each look about the results from min_steps on; there may be none.
/// What it throws ends the run. InvalidArgument (raised) if it is empty.
std::shared_ptr<Hook> stop_if(std::function<bool(const EvaluationHistory&)> should_stop, EarlyStoppingOptions options = {});

}  // namespace shoal
