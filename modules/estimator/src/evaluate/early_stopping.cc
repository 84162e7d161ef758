// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/early_stopping.h"

#include <cmath>
#include <utility>
#include <vector>

#include "evaluate/evaluation.h"
#include "shoal/base/format.h"
#include "shoal/base/names_text.h"
#include "shoal/estimator/interval_timer.h"
#include "shoal/monitor/event_reader.h"

namespace shoal {
namespace {

/// The reason to stop, for the log; nothing: continue training.
using StopReason = std::optional<std::string>;
using StopRule = std::function<StopReason(const EvaluationHistory&, Logger&)>;
using IsBetter = bool (*)(double value, double other);

bool is_higher(double value, double other) { return value > other; }
bool is_lower(double value, double other) { return value < other; }

class EarlyStopping final : public Hook {
 public:
  EarlyStopping(StopRule rule, EarlyStoppingOptions options)
      : rule_(std::move(rule)), options_(std::move(options)), timer_(options_.run_every_steps, options_.run_every_secs) {}

  void begin(HookSetup&) override {  // One hook may serve several runs, so each run begins with a reset.
    timer_.reset();
    start_step_.reset();
  }
  void after_ready(RunContext& run) override {
    timer_.reset_if_behind(run.global_step());
    note_results(run);
    if (!start_step_) start_step_ = int64_t(run.global_step());
  }
  void after_step(RunContext& run, const StepValues&) override {
    const bool due = timer_.due(run.global_step(), run.now());
    if (!run.is_chief() || !(note_results(run) || due)) return;
    if (due) timer_.trigger(run.global_step(), run.now());
    const std::optional<EvaluationHistory> history = read_history(run);
    if (!history) return;
    const StopReason reason = rule_(*history, run.log());
    if (!reason) return;
    run.log().info("early stopping at global step " + std::to_string(run.global_step()) + ": " + *reason);
    warn_of_old_results(run, *history);
    run.request_stop();
  }

 private:
  /// True if there may be results that this hook has not read: since the last call the task has evaluated, or has saved a
  /// checkpoint (an evaluator may have written results meanwhile). So a job that is shorter than the interval between reads
  /// can be stopped, too.
  bool note_results(const RunContext& run) {
    const bool evaluated = run.evaluations() != std::exchange(evaluations_, run.evaluations());
    const bool saved = run.saves() != std::exchange(saves_, run.saves());
    return evaluated || saved;
  }

  /// Warns that results that were written before this start of the program end the training after one step. The exit status
  /// is 0, so only the log tells the user why training ended, and what to change.
  void warn_of_old_results(RunContext& run, const EvaluationHistory& history) const {
    if (history.empty() || start_step_.value_or(0) == 0 || history.rbegin()->first > *start_step_) return;
    run.log().warning("early stopping: this start began at global step " + std::to_string(*start_step_) +
                      ", and the last evaluation is of step " + std::to_string(history.rbegin()->first) +
                      ", so results of earlier starts alone stop it, as they will stop each further one. To train on, set "
                      "EarlyStoppingOptions::min_steps beyond the step that this start ends with (" +
                      std::to_string(run.global_step() + 1) +
                      " or more), which ignores them, give the hook another limit, or leave it out");
  }

  /// Returns nothing if the folder cannot be read now: the job continues, and the hook tries again later.
  std::optional<EvaluationHistory> read_history(RunContext& run) const {
    const std::string folder = options_.eval_dir.value_or(eval_folder(run.model_dir(), std::nullopt));
    EvaluationHistory history;
    const auto take = [&](const monitor::EventValue& value) {
      if (value.kind == monitor::EventValue::Kind::kScalar && value.global_step >= options_.min_steps) {
        history[value.global_step][value.tag] = value.scalar;
      }
      return true;
    };
    const Result<std::vector<Error>> damage = monitor::read_events(run.env().storage(), folder, take);
    if (!damage) {
      warn(run, damage.error(), "the results of evaluations are looked at again later");
      return std::nullopt;
    }
    for (const Error& error : *damage) warn(run, error, "what follows in this file is ignored");
    return history;
  }
  static void warn(RunContext& run, const Error& error, const std::string& consequence) {
    run.log().warning_once("early stopping: " + error.message(), "early stopping: " + error.message() + "; " + consequence);
  }

  const StopRule rule_;
  const EarlyStoppingOptions options_;
  IntervalTimer timer_;
  // The values of RunContext::evaluations() and RunContext::saves() at the time when this hook last read results.
  uint64_t evaluations_ = 0;
  uint64_t saves_ = 0;
  std::optional<int64_t> start_step_;  // The global step at which the present start of training began.
};

struct MetricAtStep {
  int64_t global_step = 0;
  double value = 0;
};

/// The results of one metric in ascending order of steps. A wrong name must not end a job after hours, so it only causes a
/// warning.
std::vector<MetricAtStep> results_of(const std::string& metric, const EvaluationHistory& history, Logger& log) {
  std::vector<MetricAtStep> results;
  for (const auto& [step, metrics] : history) {
    const auto found = metrics.find(metric);
    if (found != metrics.end()) {
      results.push_back({step, found->second});
      continue;
    }
    const std::string names = comma_separated(metrics, [](const auto& entry) { return entry.first; });
    log.warning_once("early stopping without " + metric,
                     "early stopping: the evaluation at global step " + std::to_string(step) + " has no metric " + metric +
                         ", so it is skipped, and so are others without it; it has: " + names);
  }
  return results;
}

std::string value_text(double value) { return formatted("%.6g", value); }

std::string describe_result(const std::string& metric, const MetricAtStep& result) {
  return metric + " was " + value_text(result.value) + " at " + std::to_string(result.global_step);
}

StopRule beyond_threshold(std::string metric, double threshold, IsBetter is_beyond) {
  // Event files hold float32: a result of 0.6 reads as slightly more than 0.6 in double, and must not count as higher than
  // 0.6.
  return [metric = std::move(metric), bound = double(float(threshold)), is_beyond](const EvaluationHistory& history,
                                                                                   Logger& log) -> StopReason {
    for (const MetricAtStep& result : results_of(metric, history, log)) {
      if (!is_beyond(result.value, bound)) continue;
      return describe_result(metric, result) + ", " + (is_beyond == is_higher ? "higher" : "lower") + " than " +
             value_text(bound);
    }
    return std::nullopt;
  };
}

StopRule without_improvement(std::string metric, int64_t max_steps_without, IsBetter is_better) {
  return [metric = std::move(metric), max_steps_without, is_better](const EvaluationHistory& history,
                                                                    Logger& log) -> StopReason {
    std::optional<MetricAtStep> best;
    for (const MetricAtStep& result : results_of(metric, history, log)) {
      // A comparison with NaN is always false, but any number is better than NaN.
      const bool first_number = best && std::isnan(best->value) && !std::isnan(result.value);
      if (!best || first_number || is_better(result.value, best->value)) best = result;
      if (result.global_step - best->global_step < max_steps_without) continue;
      return describe_result(metric, *best) + ", and not " + (is_better == is_higher ? "higher" : "lower") + " until " +
             std::to_string(result.global_step);
    }
    return std::nullopt;
  };
}

void check_interval(const std::string& call, const EarlyStoppingOptions& options) {
  if (options.run_every_secs && options.run_every_steps) {
    raise(invalid_argument(call + ": run_every_secs and run_every_steps are both set; to look every so many steps, set "
                                  "run_every_secs to std::nullopt"));
  }
  if (!options.run_every_secs && !options.run_every_steps) {
    raise(invalid_argument(call + ": set run_every_secs or run_every_steps"));
  }
  if (!(options.run_every_secs.value_or(1) > 0) || options.run_every_steps.value_or(1) <= 0) {
    raise(invalid_argument(call + ": run_every_secs and run_every_steps must be greater than 0"));
  }
}

std::shared_ptr<Hook> make_early_stopping(const std::string& call, StopRule rule, EarlyStoppingOptions options) {
  check_interval(call, options);
  if (options.min_steps < 0) {
    raise(invalid_argument(call + ": min_steps must be at least 0, not " + std::to_string(options.min_steps)));
  }
  if (options.eval_dir && options.eval_dir->empty()) {
    raise(invalid_argument(call + ": eval_dir must not be empty; leave it out for evaluations without a name"));
  }
  return std::make_shared<EarlyStopping>(std::move(rule), std::move(options));
}

void check_metric(const std::string& call, const std::string& metric) {
  if (metric.empty()) raise(invalid_argument(call + ": metric must name a metric of the evaluation, such as loss"));
}

std::shared_ptr<Hook> threshold_hook(const std::string& call, std::string metric, double threshold, IsBetter is_beyond,
                                     EarlyStoppingOptions options) {
  check_metric(call, metric);
  if (std::isnan(threshold)) raise(invalid_argument(call + ": threshold must be a number, not NaN"));
  return make_early_stopping(call, beyond_threshold(std::move(metric), threshold, is_beyond), std::move(options));
}

std::shared_ptr<Hook> improvement_hook(const std::string& call, std::string metric, int64_t max_steps_without,
                                       IsBetter is_better, EarlyStoppingOptions options) {
  check_metric(call, metric);
  if (max_steps_without <= 0) {
    raise(invalid_argument(call + ": max_steps_without must be greater than 0, not " + std::to_string(max_steps_without)));
  }
  return make_early_stopping(call, without_improvement(std::move(metric), max_steps_without, is_better),
                             std::move(options));
}

}  // namespace

std::shared_ptr<Hook> stop_if_higher(std::string metric, double threshold, EarlyStoppingOptions options) {
  return threshold_hook("stop_if_higher", std::move(metric), threshold, is_higher, std::move(options));
}

std::shared_ptr<Hook> stop_if_lower(std::string metric, double threshold, EarlyStoppingOptions options) {
  return threshold_hook("stop_if_lower", std::move(metric), threshold, is_lower, std::move(options));
}

std::shared_ptr<Hook> stop_if_no_increase(std::string metric, int64_t max_steps_without, EarlyStoppingOptions options) {
  return improvement_hook("stop_if_no_increase", std::move(metric), max_steps_without, is_higher, std::move(options));
}

std::shared_ptr<Hook> stop_if_no_decrease(std::string metric, int64_t max_steps_without, EarlyStoppingOptions options) {
  return improvement_hook("stop_if_no_decrease", std::move(metric), max_steps_without, is_lower, std::move(options));
}

std::shared_ptr<Hook> stop_if(std::function<bool(const EvaluationHistory&)> should_stop, EarlyStoppingOptions options) {
  if (!should_stop) raise(invalid_argument("stop_if: a function that says when to stop is required"));
  StopRule rule = [should_stop = std::move(should_stop)](const EvaluationHistory& history, Logger&) -> StopReason {
    if (!should_stop(history)) return std::nullopt;
    return "the condition of stop_if is met";
  };
  return make_early_stopping("stop_if", std::move(rule), std::move(options));
}

}  // namespace shoal
