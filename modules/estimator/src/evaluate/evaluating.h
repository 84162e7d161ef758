// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Evaluations as a sequence: results, exporters, what was evaluated last. Used by local mode, by the master
/// of a cluster, and by the evaluator.
#include <optional>
#include <string>
#include <vector>

#include "evaluate/evaluation.h"
#include "shoal/base/environment.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/eval_listener.h"
#include "shoal/estimator/eval_spec.h"

namespace shoal {

/// InvalidArgument if an exporter of `spec` cannot export the model, saying why (Exporter::obstacles()).
Result<void> check_obstacles(const Estimator& estimator, const EvalSpec& spec);

/// The throttle: when the next evaluation may start after one that started at `started`. The last step of a training does not wait for it.
inline SteadyTime throttled_until(const EvalSpec& spec, SteadyTime started) {
  return started + std::chrono::seconds(spec.throttle_secs);
}

class Evaluating {
 public:
  Evaluating(const Estimator& estimator, const EvalSpec& spec, std::optional<int64_t> max_steps)
      : estimator_(estimator), spec_(spec), max_steps_(max_steps) {}

  /// Evaluates the checkpoint at `prefix`, then calls the exporters. On the compute thread. Cancelled if `stop` stops
  /// before the evaluation is through.
  Result<void> evaluate(Environment& env, const std::string& prefix, const StopToken& stop = {});
  /// Asks the listener, if there is one, before the next look for a checkpoint, and after it. False: evaluation ends, which the log says.
  Result<bool> may_look(Logger& log);
  Result<bool> may_go_on(Logger& log, EvalStatus status);
  /// Warns of each exporter for the last step that was never called, because training ended before its last step was evaluated.
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
  bool last_was_final_ = false;
  bool told_of_steps_ = false;
};

}  // namespace shoal
