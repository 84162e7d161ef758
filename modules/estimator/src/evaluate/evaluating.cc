// SPDX-License-Identifier: Apache-2.0
#include "evaluate/evaluating.h"

#include <algorithm>
#include <utility>

#include "evaluate/evaluation_notes.h"
#include "shoal/checkpoint/reader.h"
#include "task/metered_task.h"
#include "task/task_network.h"
#include "task/temporary_files.h"

namespace shoal {

Result<void> check_obstacles(const Estimator& estimator, const EvalSpec& spec) {
  for (const auto& exporter : spec.exporters) {
    SHOAL_TRY(const std::vector<std::string> obstacles,
              call_user("exporter " + exporter->name(), [&] { return exporter->obstacles(estimator, spec.input_fn); }));
    if (obstacles.empty()) continue;
    std::string list;
    for (const std::string& obstacle : obstacles) list += (list.empty() ? "" : "; ") + obstacle;
    return invalid_argument("exporter " + exporter->name() + " cannot export the model: " + list);
  }
  return {};
}

Result<void> Evaluating::evaluate(Environment& env, const std::string& prefix, const StopToken& stop) {
  monitor::TaskMeters* const meters = host_of(estimator_.config()).meters.get();
  const MeteredPhase evaluating(meters, monitor::TaskPhase::kEvaluating);
  if (!last_prefix_) sweep_exports(env);
  evaluated_ = false;
  // Held open until the exporters are done: training may delete the checkpoint meanwhile.
  SHOAL_TRY(auto reader, checkpoint::Reader::open(env.storage(), prefix));
  Estimator holding = estimator_;
  holding.held_checkpoint_ = std::move(reader);
  SHOAL_TRY(Evaluation evaluation,
            run_evaluation(env, holding, spec_.input_fn,
                           {.steps = spec_.steps, .hooks = spec_.hooks, .checkpoint = prefix, .name = spec_.name}, stop));
  tell_of_steps(env.log(), evaluation);
  Metrics& metrics = evaluation.metrics;
  if (!metrics.contains("global_step")) return internal_error("an evaluation gave no global_step");
  if (meters) meters->evaluated({metrics.begin(), metrics.end()});
  evaluated_ = true;
  const bool is_final = max_steps_ && metrics["global_step"] >= double(*max_steps_);
  std::vector<std::optional<std::string>> exports;
  for (const auto& exporter : spec_.exporters) {
    const ExportRequest request{env, holding, export_folder(*exporter), prefix, metrics, spec_.input_fn, is_final};
    SHOAL_TRY(std::optional<std::string> written,
              call_user("exporter " + exporter->name(), [&] { return exporter->export_model(request); }));
    if (written) {
      env.log().info("export " + exporter->name() + ": " + *written);
      fired_.push_back(exporter.get());
    }
    exports.push_back(std::move(written));
  }
  last_prefix_ = prefix;
  last_was_final_ = is_final;
  exports_ = std::move(exports);
  metrics_ = std::move(metrics);
  return {};
}

void Evaluating::tell_of_steps(Logger& log, const Evaluation& evaluation) {
  const std::optional<std::string> note = note_on_steps(evaluation);
  if (!note || std::exchange(told_of_steps_, true)) return;
  log.info("evaluation" + (spec_.name ? " " + *spec_.name : "") + ": " + *note);
}

Result<bool> Evaluating::may_look(Logger& log) {
  if (!spec_.listener) return true;
  SHOAL_TRY(const bool yes, call_user("listener before_eval", [&] { return spec_.listener->before_eval(); }));
  if (!yes) log.info("evaluation ends: the listener asked for it before a look");
  return yes;
}

Result<bool> Evaluating::may_go_on(Logger& log, EvalStatus status) {
  if (!spec_.listener) return true;
  EvalOutcome look{.status = status, .checkpoint_path = {}, .metrics = {}};
  if (status == EvalStatus::kEvaluated) look = {status, last_prefix_.value(), metrics_.value()};
  SHOAL_TRY(const bool yes, call_user("listener after_eval", [&] { return spec_.listener->after_eval(look); }));
  if (!yes) log.info("evaluation ends: the listener asked for it after a look");
  return yes;
}

/// Removes the unfinished exports of earlier processes. Searches the folders of all exporters, since an exporter that makes
/// no further export would leave them there.
void Evaluating::sweep_exports(Environment& env) const {
  for (const auto& exporter : spec_.exporters) remove_temporary_files(env, export_folder(*exporter), {kUnfinishedExport});
}

std::string Evaluating::export_folder(const Exporter& exporter) const {
  return join_path(join_path(estimator_.model_dir(), "export"), exporter.name());
}

void Evaluating::warn_about_final_exporters(Logger& log) const {
  for (const auto& exporter : spec_.exporters) {
    if (!exporter->final_only() || std::find(fired_.begin(), fired_.end(), exporter.get()) != fired_.end()) continue;
    const std::string last = metrics_ ? std::to_string(int64_t(metrics_->at("global_step"))) : "none";
    log.warning("export " + exporter->name() + " was never made: it waits for the last step, the last evaluation was at " +
                last + ", max_steps is " + (max_steps_ ? std::to_string(*max_steps_) : "not set"));
  }
}

}  // namespace shoal
