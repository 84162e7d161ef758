// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Evaluations in sequence: evaluates checkpoints, calls exporters and listener, and remembers the last result. Used by
/// local mode, by the master of a cluster, and by the evaluator.
#include <optional>
#include <string>
#include <vector>

#include "evaluate/evaluation.h"
#include "shoal/base/environment.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/eval_listener.h"
#include "shoal/estimator/eval_spec.h"

namespace shoal {

/// Checks the exporters before training. InvalidArgument, with the reasons, if an exporter of `spec` cannot export the
/// model (Exporter::obstacles()).
Result<void> check_obstacles(const Estimator& estimator, const EvalSpec& spec);

/// Returns when the next evaluation may start at the earliest (EvalSpec::throttle_secs), if the one before started at
/// `started`. The last step of training is evaluated without regard to this.
inline SteadyTime throttled_until(const EvalSpec& spec, SteadyTime started) {
  return started + seconds_to_duration(double(spec.throttle_secs));  // More than a century is a century.
}

class Evaluating {
 public:
  Evaluating(const Estimator& estimator, const EvalSpec& spec, std::optional<int64_t> max_steps)
      : estimator_(estimator), spec_(spec), max_steps_(max_steps) {}

  /// Evaluates the checkpoint at `prefix`, then calls the exporters. Runs on the compute thread. Cancelled if `stop` stops
  /// before the evaluation is complete. NotFound if the checkpoint is gone when the call begins; training may
  /// delete it afterwards.
  Result<void> evaluate(Environment& env, const std::string& prefix, const StopToken& stop = {});
  /// True if the last call of evaluate() came as far as the exporters. If that call returned an error, an exporter caused it.
  bool evaluated() const { return evaluated_; }
  /// The two functions below ask the user's EvalListener whether to go on evaluating. may_look() asks before each search
  /// for a checkpoint (EvalListener::before_eval()), may_go_on() after the search (EvalListener::after_eval()). They return
  /// the listener's answer, or true if there is no listener, and log the answer "no".
  Result<bool> may_look(Logger& log);
  Result<bool> may_go_on(Logger& log, EvalStatus status);
  /// Warns of each exporter that waits for the last step and was never called, because training ended before its last step
  /// was evaluated.
  void warn_about_final_exporters(Logger& log) const;

  const std::optional<std::string>& last_prefix() const { return last_prefix_; }
  const std::optional<Metrics>& metrics() const { return metrics_; }
  const std::vector<std::optional<std::string>>& exports() const { return exports_; }
  bool last_was_final() const { return last_was_final_; }

 private:
  void tell_of_steps(Logger& log, const Evaluation& evaluation);
  void sweep_exports(Environment& env) const;
  std::string export_folder(const Exporter& exporter) const;

  const Estimator& estimator_;
  const EvalSpec& spec_;
  std::optional<int64_t> max_steps_;
  std::optional<std::string> last_prefix_;
  std::optional<Metrics> metrics_;
  std::vector<std::optional<std::string>> exports_;
  std::vector<const Exporter*> fired_;
  bool evaluated_ = false;
  bool last_was_final_ = false;
  bool told_of_steps_ = false;
};

}  // namespace shoal
