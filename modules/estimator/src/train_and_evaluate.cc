// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/train_and_evaluate.h"

#include "evaluate/best_evaluation.h"
#include "evaluate/evaluating.h"
#include "evaluate/evaluator_task.h"
#include "evaluate/local_evaluation.h"
#include "evaluate/predict_file.h"
#include "shoal/cluster/parameter_server.h"
#include "shoal/transport/transport.h"
#include "task/end_of_job.h"
#include "task/give_way.h"
#include "task/metered_task.h"
#include "task/run_seed.h"
#include "task/task_network.h"
#include "train/held_out_check.h"
#include "train/measure_input.h"
#include "train/train_task.h"

namespace shoal {
namespace {

struct Call {
  const Estimator& estimator;
  const TrainSpec& train;
  const EvalSpec& eval;
  const RunConfig& config() const { return estimator.config(); }
};

Result<void> check(const Call& call) {
  SHOAL_TRY_VOID(call.train.check());
  SHOAL_TRY_VOID(call.eval.check());
  const bool local = call.config().task().mode == cluster::TaskMode::kLocal;
  const bool master = call.config().task().job.chief_role() == cluster::kMasterRole;
  if ((local || master) && !call.config().saves_checkpoints()) {
    return invalid_argument(std::string("train_and_evaluate: checkpoints are disabled, and ") +
                            (local ? "local evaluation" : "the evaluation of a master") +
                            " needs them; set save_checkpoints_steps or save_checkpoints_secs");
  }
  return check_task(call.config());
}

TaskReport report_of(const TrainOutcome& outcome, const RunConfig& config) {
  TaskReport report;
  report.task = config.task().name();
  report.global_step = outcome.global_step;
  report.loss = outcome.loss;
  report.seconds = outcome.seconds;
  report.interrupted = outcome.interrupted;
  report.seed = outcome.seed;
  if (outcome.seconds > 0) report.examples_per_second = double(outcome.examples) / outcome.seconds;
  return report;
}

TrainAndEvaluateResult interrupted_before_training(const Call& call) {
  tell_interrupted(call.config(), call.estimator.model_dir());
  return {};
}

/// Completes the report of a task, passes it to the task's process (TaskHost::report), and returns the result.
TrainAndEvaluateResult handed_in(Environment& env, const Call& call, TaskReport report) {
  report.model_dir = call.estimator.model_dir();
  if (!report.model_dir.empty()) report.eval_dir = call.estimator.eval_dir(call.eval.name);
  if (!report.seed) report.seed = call.config().random_seed();
  if (call.config().host() && call.config().host()->report) {
    // Reads the seed from run.json in tasks that do not train. A trainer's report has the seed already. A chief should not
    // read files at this point: its job has ended, so if it were killed during the read and started again, it would find
    // no servers.
    if (!report.seed && !report.model_dir.empty()) report.seed = seed_of_run(env, call.config(), report.model_dir);
    if (!report.metrics.empty()) {
      report.best = best_evaluation(env.storage(), report.eval_dir, report.metrics);
    }
    call.config().host()->report(report);
  }
  return {.metrics = {}, .exports = {}, .report = std::move(report)};
}

Result<TrainAndEvaluateResult> run_local(Environment& env, const Call& call) {
  const auto evaluation = std::make_shared<LocalEvaluation>(env, call.estimator, call.eval, call.train.max_steps,
                                                            LocalEvaluation::Last::kInTraining);
  std::vector<std::shared_ptr<CheckpointListener>> listeners = call.train.saving_listeners;
  listeners.push_back(evaluation);
  const TrainRequest request{.estimator = call.estimator,
                             .input_fn = call.train.input_fn,
                             .role = TrainRole::kLocal,
                             .max_steps = call.train.max_steps,
                             .steps = {},
                             .hooks = call.train.hooks,
                             .listeners = std::move(listeners),
                             .missed_evaluation = evaluation.get(),
                             .types_from = &call.eval.input_fn,
                             .before_training = [&call] { return check_obstacles(call.estimator, call.eval); },
                             .write_end_mark = true};
  const Result<TrainOutcome> outcome = env.run(train_task(env, request));
  const bool was_interrupted = !outcome && is_interrupt(outcome.error()) && env.interrupted().stop_requested();
  if (was_interrupted && !gives_way(env, outcome.error())) return interrupted_before_training(call);
  if (!outcome) return outcome.error();
  TaskReport report = report_of(*outcome, call.config());
  TrainAndEvaluateResult result;
  if (!outcome->nothing_to_do || evaluation->evaluating().metrics()) {
    evaluation->evaluating().warn_about_final_exporters(env.log());
    result.metrics = evaluation->evaluating().metrics();
    result.exports = evaluation->evaluating().exports();
    if (result.metrics) report.metrics = *result.metrics;
  }
  result.report = handed_in(env, call, std::move(report)).report;
  return result;
}

/// The common part of chief, master and worker. `evaluation`: a master's evaluations during training; null in other roles.
Result<TrainAndEvaluateResult> run_trainer(Environment& env, const Call& call,
                                           std::shared_ptr<LocalEvaluation> evaluation) {
  const bool chief = call.config().is_chief();
  std::vector<std::shared_ptr<CheckpointListener>> listeners;
  if (chief) listeners = call.train.saving_listeners;
  if (evaluation) listeners.push_back(evaluation);
  const TrainRequest request{.estimator = call.estimator,
                             .input_fn = call.train.input_fn,
                             .role = chief ? TrainRole::kChief : TrainRole::kWorker,
                             .max_steps = call.train.max_steps,
                             .steps = {},
                             .hooks = call.train.hooks,
                             .listeners = std::move(listeners),
                             .last_evaluation = evaluation.get(),
                             .missed_evaluation = evaluation.get(),
                             .types_from = &call.eval.input_fn,
                             .before_training = [&call, chief]() -> Result<void> {
                               if (!chief) return {};
                               return check_obstacles(call.estimator, call.eval);
                             },
                             .write_end_mark = chief};
  const auto outcome = env.run(trainer_task(env, request));
  if (!outcome && is_interrupt(outcome.error()) && !gives_way(env, outcome.error()))
    return interrupted_before_training(call);
  if (!outcome) return outcome.error();
  TaskReport report = report_of(*outcome, call.config());
  if (evaluation && (!outcome->nothing_to_do || evaluation->evaluating().metrics())) {
    evaluation->evaluating().warn_about_final_exporters(env.log());
    report.metrics = evaluation->evaluating().metrics().value_or(Metrics());
  }
  return handed_in(env, call, std::move(report));
}

Result<TrainAndEvaluateResult> run_chief_or_worker(Environment& env, const Call& call) {
  if (call.config().is_chief() && !call.config().saves_checkpoints()) {
    env.log().warning("checkpoints are disabled: no evaluator can work with this job");
  }
  return run_trainer(env, call, nullptr);
}

Result<TrainAndEvaluateResult> run_master(Environment& env, const Call& call) {
  return run_trainer(env, call,
                     std::make_shared<LocalEvaluation>(env, call.estimator, call.eval, call.train.max_steps,
                                                       LocalEvaluation::Last::kAfterTheJobsEnd));
}

Result<TrainAndEvaluateResult> run_ps(Environment& env, const Call& call) {
  SHOAL_TRY(transport::Endpoint listen_at, own_endpoint(call.config()));
  SHOAL_TRY(transport::LinkOptions link, link_options(call.config()));
  cluster::ParameterServerOptions options{.identity = task_identity(env, call.config()),
                                          .listen_at = std::move(listen_at),
                                          .link = std::move(link),
                                          .servers = server_endpoints(call.config()),
                                          .memory_limit = call.config().memory_limit(),
                                          .trainers = call.config().num_trainers(),
                                          .ready_timeout = seconds_to_duration(call.config().ready_timeout_secs()),
                                          .lost_grace = seconds_to_duration(call.config().lost_grace_secs()),
                                          .observer = host_of(call.config()).observer};
  if (host_of(call.config()).bytes_on_strand) options.bytes_on_strand = *host_of(call.config()).bytes_on_strand;
  env.log().info(call.config().compute_threads_text(env.process()));
  const MeteredPhase serving(host_of(call.config()).meters.get(), monitor::TaskPhase::kServing);
  EndOfJob end_of_job(env, call.estimator.config(), call.estimator.model_dir(), call.train.max_steps,
                      EndOfJob::NewMarks::kDoubted);
  if (!call.estimator.model_dir().empty()) {
    options.job_ended = [&end_of_job] {
      const auto mark = end_of_job.look();
      return mark && *mark;
    };
  }
  SHOAL_TRY_VOID(env.run(cluster::run_parameter_server(env, std::move(options))));
  TaskReport report;
  report.task = call.config().task().name();
  return handed_in(env, call, std::move(report));
}

/// Returns the result of a task that starts after the job's end: it only writes a line to the log, and ends with status 0.
/// (An evaluator does not get here: it makes the evaluation that is missing.)
TrainAndEvaluateResult came_too_late(Environment& env, const Call& call) {
  env.log().info("training finished before this task arrived; nothing to do");
  TaskReport report;
  report.task = call.config().task().name();
  return handed_in(env, call, std::move(report));
}

Result<TrainAndEvaluateResult> run_evaluator(Environment& env, const Call& call) {
  const MeteredPhase serving(host_of(call.config()).meters.get(), monitor::TaskPhase::kServing);
  const EvaluatorOptions options{call.estimator, call.eval, call.train.max_steps};
  SHOAL_TRY(const std::optional<Metrics> metrics, env.run(evaluator_task(env, options)));
  TaskReport report;
  report.task = call.config().task().name();
  if (metrics) {
    report.metrics = *metrics;
    report.global_step = uint64_t(metrics->at("global_step"));
  }
  return handed_in(env, call, std::move(report));
}

Result<TrainAndEvaluateResult> run_role(Environment& env, const Call& call) {
  const std::string& type = call.config().task_type();
  if (call.config().task().mode == cluster::TaskMode::kLocal) return run_local(env, call);
  if (type == cluster::kEvaluatorRole) return run_evaluator(env, call);
  if (call.config().task().has_ended) return came_too_late(env, call);
  if (type == cluster::kPsRole) return run_ps(env, call);
  if (type == cluster::kMasterRole) return run_master(env, call);
  return run_chief_or_worker(env, call);
}

}  // namespace

TrainAndEvaluateResult train_and_evaluate(Estimator& estimator, TrainSpec train_spec, EvalSpec eval_spec) {
  return value_or_raise(try_train_and_evaluate(estimator, std::move(train_spec), std::move(eval_spec)));
}

Result<TrainAndEvaluateResult> try_train_and_evaluate(Estimator& estimator, TrainSpec train_spec, EvalSpec eval_spec) {
  if (PredictFile* const request = host_of(estimator.config()).predict.get()) {
    SHOAL_TRY_VOID(
        predict_file(estimator, train_spec.predict_input ? train_spec.predict_input : eval_spec.predict_input, *request));
    return Error(ErrorKind::kCancelled, "the predictions are written, and nothing was trained");
  }
  if (MeasureInput* const request = host_of(estimator.config()).measure_input.get()) {
    SHOAL_TRY_VOID(measure_input(estimator, train_spec.input_fn, *request));
    return Error(ErrorKind::kCancelled, "the input is measured, and nothing was trained");
  }
  SHOAL_TRY_VOID(check({estimator, train_spec, eval_spec}));
  const std::shared_ptr<Environment> env = make_task_environment(estimator.config());
  SHOAL_TRY_VOID(check_reach(*env, estimator.config()));
  SHOAL_TRY(const auto metered, MeteredTask::begin(with_environment(estimator.config(), env), *env));
  const Estimator own = estimator.with_config(metered->config());
  warn_if_not_held_out(*env, train_spec.input_fn, eval_spec.input_fn);
  const Call call{own, train_spec, eval_spec};
  for (const std::string& warning : call.config().task().warnings) env->log().warning(warning);
  Result<TrainAndEvaluateResult> result = run_role(*env, call);
  if (!result && gives_way(*env, result.error())) return gave_way(call.config());
  return result;
}

}  // namespace shoal
