// SPDX-License-Identifier: Apache-2.0
#include "train/train_task.h"

#include "evaluate/local_evaluation.h"
#include "shoal/base/compute.h"
#include "shoal/base/path_error.h"
#include "train/resumable_input.h"
#include "train/train_end.h"
#include "train/train_run.h"
#include "train/train_scope.h"
#include "train/train_setup.h"
#include "train/trainer_folder.h"

namespace shoal {
namespace {

/// One training run of one task: checks the folder, opens the input, sets up the training and runs it.
class TrainTask {
 public:
  TrainTask(Environment& env, const TrainRequest& request) : scope_(env, request), folder_(scope_), end_(scope_, folder_) {
    for (int i = 0; i < scope_.config().replicas(); ++i) inputs_.push_back(std::make_unique<ResumableInput>(scope_, i));
  }
  Task<Result<TrainOutcome>> run();

 private:
  Task<Result<TrainOutcome>> run_steps();
  Task<Result<bool>> claim_and_set_up();
  Task<Result<bool>> set_up();
  Error of_start(Error error) const;

  TrainScope scope_;
  TrainerFolder folder_;
  // The inputs of this trainer, or of all replicas that are computed here.
  std::vector<std::unique_ptr<ResumableInput>> inputs_;
  std::optional<TrainRun> run_;  // None until training is set up.
  TrainEnd end_;
};

/// Runs the training. If a chief fails for good, or is interrupted while it has no servers, it ends the job for all other
/// tasks, too.
Task<Result<TrainOutcome>> TrainTask::run() {
  Result<TrainOutcome> outcome = co_await run_steps();
  if (outcome) co_return outcome;
  if (outcome.error().kind() == ErrorKind::kUnavailable && is_unwritable(outcome.error())) {
    const auto name = [&]() -> Result<TrainOutcome> { return of_start(outcome.error()); };
    outcome = co_await compute(scope_.env, name);
  }
  co_await end_.fail(outcome.error());
  if (!is_interrupt(outcome.error())) co_return outcome;
  const bool asked = scope_.env.interrupted().stop_requested() || scope_.env.leaving().stop_requested();
  if (!asked && !(run_ && run_->ends_with_the_job(outcome.error()))) {
    co_return unavailable(
        "training was cut short, although no one has asked this task to end, and its job has not ended: " +
        outcome.error().message() + "; start the task again, and it goes on from the newest checkpoint");
  }
  const bool began = run_ && run_->has_begun();
  if (scope_.env.leaving().stop_requested()) {
    scope_.env.sometimes("trainer.gave_way");
    scope_.env.log().info(began ? "gave way at global step " + std::to_string(scope_.context.global_step()) +
                                      "; the same command goes on " +
                                      (scope_.leads() ? "from the newest checkpoint" : "where the job is")
                                : "gave way before training began");
    co_return outcome;
  }
  if (scope_.leads() && scope_.env.interrupted().stop_requested()) {
    SHOAL_CO_TRY_VOID(co_await end_.interrupted(began));
  } else {
    scope_.env.log().info(began ? "ended while it waited for its servers" : "interrupted before training began");
  }
  co_return outcome;
}

/// If this start has written nothing yet that training could go on from, makes FailedPrecondition of the error that a folder
/// cannot be written: starting again would not help. Where there are checkpoints, a full disk stays Unavailable: it may have
/// become full during training, and a launcher starts the task again until there is room.
Error TrainTask::of_start(Error error) const {
  const bool has_begun = scope_.context.saves() > 0 || scope_.context.iterations() > 0;
  if (!scope_.leads() || has_begun || error.cause() || (is_full(error) && folder_.lists_checkpoints())) return error;
  const std::string named = "model_dir " + scope_.model_dir();
  if (error.message().starts_with(named)) return {ErrorKind::kFailedPrecondition, error.message()};
  return {ErrorKind::kFailedPrecondition, named + " cannot be written: " + error.message()};
}

Task<Result<TrainOutcome>> TrainTask::run_steps() {
  Environment& env = scope_.env;
  SHOAL_CO_TRY(const bool finished_before, co_await compute(env, &TrainerFolder::look, &folder_));
  if (finished_before) {
    env.sometimes("training.nothing_to_do");
    SHOAL_CO_TRY_VOID(co_await end_.nothing_to_do());
    if (LocalEvaluation* const missed = scope_.request.missed_evaluation) {
      SHOAL_CO_TRY_VOID(co_await compute(env, &LocalEvaluation::make_up_for_last, missed));
    }
    TrainOutcome outcome = end_.outcome();
    outcome.nothing_to_do = true;
    co_return outcome;
  }
  const bool claims = scope_.distributed() && scope_.leads();
  Task<Result<bool>> setting_up = claims ? claim_and_set_up() : set_up();
  SHOAL_CO_TRY(const bool has_input, co_await std::move(setting_up));
  if (!has_input) {
    SHOAL_CO_TRY_VOID(end_.without_input(inputs_.front()->types_from_is_empty()));
    co_return end_.outcome();
  }
  SHOAL_CO_TRY_VOID(co_await run_->run());
  if (scope_.request.last_evaluation) {
    Result<void> evaluated = co_await compute(env, &LocalEvaluation::evaluate_last, scope_.request.last_evaluation);
    // If the evaluation fails with Unavailable, another try may succeed. At max_steps the error is returned, so that this
    // task is started again; it then trains nothing, and only repeats the evaluation. After an interrupt the error is only
    // logged: if the task was started again, it would train on, but the servers and the other tasks have ended.
    const bool may_come_again = end_.reason() == checkpoint::EndReason::kMaxSteps;
    const bool passes = !evaluated && evaluated.error().kind() == ErrorKind::kUnavailable;
    if (passes && !may_come_again) {
      env.log().error("the last evaluation failed: " + evaluated.error().message() +
                      "; the job has ended with its checkpoint, which Estimator::evaluate() evaluates");
    } else {
      SHOAL_CO_TRY_VOID(evaluated);
    }
  }
  TrainOutcome outcome = end_.outcome();
  outcome.weights = run_->weights();
  co_return outcome;
}

/// For a chief: sets up the training once the servers have let it lead. A chief that they refuse leaves its folder as it was.
/// While the set-up takes its time, the servers hear that this chief is alive.
Task<Result<bool>> TrainTask::claim_and_set_up() {
  if (Result<void> claimed = co_await end_.claim_servers(); !claimed) {
    SHOAL_CO_TRY_VOID(co_await compute(scope_.env, &TrainerFolder::put_mark_back, &folder_));
    co_return std::move(claimed).error();
  }
  TaskGroup beside(scope_.env);
  beside.spawn(end_.keep_claim(beside.token()));
  Result<bool> has_input = co_await set_up();
  beside.request_stop();
  // If the claim was lost meanwhile, the servers say so to the training's own connections.
  static_cast<void>(co_await beside.join());
  co_return has_input;
}

/// Begins the run, opens the inputs, and makes run_. False if no input has elements, and their types are not known.
Task<Result<bool>> TrainTask::set_up() {
  Environment& env = scope_.env;
  const bool bounded = folder_.max_steps().has_value();
  ResumableInput* typed = nullptr;  // The first input whose types are known; the model is built for these.
  for (const auto& input : inputs_) {
    const auto open = [&]() -> Result<void> {
      if (scope_.leads()) SHOAL_TRY_VOID(folder_.begin());
      return input->open(bounded);
    };
    SHOAL_CO_TRY_VOID(co_await compute(env, open));
    if (!typed && input->types()) typed = input.get();
  }
  if (!typed) co_return false;
  if (scope_.request.before_training) {
    SHOAL_CO_TRY_VOID(co_await compute(env, scope_.request.before_training));
  }
  SHOAL_CO_TRY(TrainSetup setup, co_await set_up_training(scope_, folder_, *typed));
  run_.emplace(scope_, folder_, inputs_, end_, std::move(setup));
  co_return true;
}

}  // namespace

Task<Result<TrainOutcome>> train_task(Environment& env, const TrainRequest& request) {
  TrainTask task(env, request);
  co_return co_await task.run();
}

}  // namespace shoal
