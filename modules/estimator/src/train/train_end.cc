// SPDX-License-Identifier: Apache-2.0
#include "train/train_end.h"

#include <algorithm>

#include "shoal/base/compute.h"
#include "shoal/checkpoint/manifest.h"
#include "task/task_network.h"

namespace shoal {
namespace {

// How long a worker that ends for a restart may take to send the residual of its compression.
constexpr auto kGiveWayTimeout = std::chrono::seconds(5);
// How long the chief tries to reach servers if it found an end mark in model_dir, the file that says that training has
// ended. The process that wrote the file has then probably told the servers of the end, and they are gone.
constexpr auto kToldBeforeTimeout = std::chrono::seconds(15);

}  // namespace

Task<Result<void>> TrainEnd::claim_servers() {
  SHOAL_CO_TRY_VOID(make_store_without_plan(scope_.ready_timeout()));
  if (folder_.is_run_known()) alone_->know_run(scope_.run.id);
  co_return co_await alone_->connect(scope_.env.after(scope_.ready_timeout()));
}

Task<Result<void>> TrainEnd::keep_claim(StopToken stop) { return alone_->stay(std::move(stop)); }

void TrainEnd::give_up_claim() { alone_.reset(); }

void TrainEnd::reached(const LoopEnd& end, bool input_resumed) {
  end_ = end;
  if (end_.iterations == 0 && end_.reason == checkpoint::EndReason::kEndOfInput) warn_that_no_step_was_made(input_resumed);
}

/// Writes the end mark, a file in model_dir that says that the job has ended, and only then tells the servers of the end.
/// If the chief is killed in between, it still finds the servers when it is started again.
Task<Result<void>> TrainEnd::finish() {
  end_.global_step = scope_.context.global_step();
  SHOAL_CO_TRY_VOID(co_await compute(scope_.env, &TrainEnd::finish_folder, this));
  cluster::JobEnd end = clean_end();
  if (has_servers()) SHOAL_CO_TRY_VOID(co_await announce(std::move(end), kLeaveTimeout));
  say_how_it_ended();
  co_return Result<void>{};
}

Task<Result<void>> TrainEnd::nothing_to_do() {
  const uint64_t step = folder_.checkpoint_step();
  const std::string before = "training finished before: ";
  const std::string at = " at global step " + std::to_string(step);
  if (folder_.run_has_ended()) {
    const checkpoint::EndReason reason = folder_.reason_at_start();
    scope_.env.log().info(before + "the start " + host_of(scope_.config()).shoal_run + " (SHOAL_RUN) has ended" + at +
                          " (" + std::string(checkpoint::to_string(reason)) +
                          "); a start of another name, or of none, goes on from there");
    end_ = {step, 0, reason};
  } else {
    scope_.env.log().info(
        before + "the checkpoint is" + at + ", max_steps is " + std::to_string(*folder_.max_steps()) +
        "; there is nothing to do (a larger max_steps goes on from there, another model_dir begins anew)");
    end_ = {step, 0, checkpoint::EndReason::kMaxSteps};
  }
  // Writes the end mark (the file that says that training has ended), unless an earlier start wrote it and it is still
  // there. It may be missing, since TrainerFolder::look() can remove it before the checkpoint shows that nothing is left to
  // train.
  if (scope_.request.write_end_mark && folder_.has_checkpoint() && !folder_.keeps_mark()) {
    SHOAL_CO_TRY_VOID(co_await compute(scope_.env, &TrainEnd::write_end_mark, this));
  }
  // If this task found an end mark when it started, an earlier chief has probably told the servers of the end, and they are
  // gone. So this task tries only for a short time to reach them.
  const Duration patience = folder_.was_marked() ? Duration(kToldBeforeTimeout) : scope_.ready_timeout();
  cluster::JobEnd end = clean_end();
  if (scope_.distributed()) SHOAL_CO_TRY_VOID(co_await announce(std::move(end), patience));
  co_return Result<void>{};
}

Result<void> TrainEnd::without_input(bool evaluation_too) {
  const std::string what =
      std::string("training: ") +
      (evaluation_too ? "the training input and the evaluation input are both empty" : "the training input is empty") +
      ", and the types of its elements cannot be told, so that the model cannot be built: ";
  constexpr std::string_view kLook = "; look at the files, generators and filters of the input function";
  if (scope_.distributed() || evaluation_too || !folder_.has_checkpoint()) {
    // Connections by which fail() tells the servers that this trainer does not come.
    if (scope_.distributed() && !has_servers()) SHOAL_TRY_VOID(make_store_without_plan(kLeaveTimeout));
    return invalid_argument(what + "there is nothing to train, save or evaluate" + std::string(kLook));
  }
  end_ = {folder_.checkpoint_step(), 0, checkpoint::EndReason::kEndOfInput};
  scope_.env.log().warning(what + "no step was made, no hook was called, and checkpoint " + last_checkpoint() +
                           " stays the newest" + std::string(kLook));
  return {};
}

Task<void> TrainEnd::give_way() {
  const Result<void> closed = co_await compute(scope_.env, &TrainEnd::close_events, this);
  if (!closed) scope_.env.log().warning("events are not complete: " + closed.error().message());
  if (has_servers()) co_await servers()->give_way(scope_.env.after(kGiveWayTimeout));
}

void TrainEnd::came_too_late() {
  const std::optional<cluster::JobEnd> end = servers()->job_end();
  if (end && end->failed) {
    scope_.env.log().warning("nothing to do for this task: " + cluster::sentence(*end));
  } else {
    scope_.env.log().info("training finished before this task arrived; nothing to do");
  }
}

/// Does nothing for an error that a restart may repair. A worker tells the servers why it has failed, and leaves, so that
/// no other task waits for it. A chief writes no end mark, but tells servers and workers that the job has failed, since
/// they would otherwise wait for a chief that does not come back. Errors of these messages are dropped: the user has to see
/// `why`.
Task<void> TrainEnd::fail(Error why) {
  if (!is_permanent(why.kind())) co_return;
  const Result<void> noted = co_await compute(scope_.env, &TrainEnd::tell_failed_session, this);
  if (!noted) scope_.env.log().warning("events are not complete: " + noted.error().message());
  if (!scope_.distributed()) co_return;
  if (!scope_.leads()) {
    if (!has_servers() || scope_.is_stranger) co_return;
    Error named = std::move(why).with_context(scope_.config().task().name());
    Result<void> told = co_await servers()->tell_failure(std::move(named), scope_.env.after(kLeaveTimeout));
    // Ignores an error of the message. A chief that does not hear of this failure still saves a checkpoint when a signal
    // stops it.
    static_cast<void>(told);
    co_await leave();
    co_return;
  }
  cluster::JobEnd end{.failed = true, .reason = why.message()};
  if (!has_servers()) {
    Result<void> told = co_await announce(std::move(end), kLeaveTimeout);
    static_cast<void>(told);
    co_return;
  }
  Result<void> told = co_await servers()->finish(std::move(end), scope_.env.after(kLeaveTimeout));
  if (!told) scope_.env.log().warning("a server was not told that the job has failed: " + told.error().message());
  co_await leave();  // Servers wait until each task leaves or has heard of the job's end.
}

/// Ends the job after an interrupt that came before training began, or while the servers lacked the model. There is no
/// state to save, so the newest checkpoint remains the job's last one. Tells the other tasks of the end: else they would
/// wait.
Task<Result<void>> TrainEnd::interrupted(bool began) {
  end_ = {uint64_t(checkpoint::step_of(last_checkpoint()).value_or(0)), 0, checkpoint::EndReason::kInterrupted};
  if (began) {  // Training had begun, but a server lost its state, and the interrupt came before it was restored.
    scope_.env.log().warning(
        "interrupted after a server lost what it held: the job ends with its last checkpoint, of global step " +
        std::to_string(end_.global_step) + "; updates since are lost");
  } else {
    scope_.env.log().info("interrupted before training began");
  }
  // A chief that still waits for its servers has not begun. It does now, since its evaluator looks for the end mark.
  SHOAL_CO_TRY_VOID(co_await compute(scope_.env, &TrainerFolder::begin, &folder_));
  SHOAL_CO_TRY_VOID(co_await compute(scope_.env, &TrainEnd::finish_folder, this));
  if (!scope_.distributed()) co_return Result<void>{};
  cluster::JobEnd end = clean_end();
  co_return co_await announce(std::move(end), kLeaveTimeout);
}

TrainOutcome TrainEnd::outcome() const {
  return {.nothing_to_do = false,
          .global_step = end_.global_step,
          .seconds = setup_ ? setup_->progress->seconds() : 0,
          .examples = setup_ ? setup_->progress->examples() : 0,
          .loss = setup_ ? setup_->progress->loss() : std::nullopt,
          .interrupted = end_.reason == checkpoint::EndReason::kInterrupted,
          .seed = scope_.run.id.empty() ? std::nullopt : std::optional(scope_.run.seed)};
}

/// The newest checkpoint that this run wrote, or else the one that it began with; empty if there is none.
std::string TrainEnd::last_checkpoint() const {
  if (setup_ && setup_->saver && !setup_->saver->last_name().empty()) return setup_->saver->last_name();
  return folder_.checkpoint_name();
}

/// Writes to the leading task's events how training has ended. Not called if training may continue later, as after an
/// interrupt, because TensorBoard uses only the first such event of a folder.
Result<void> TrainEnd::tell_session_end(monitor::SessionStatus status) {
  return scope_.leads() && setup_ && setup_->events ? setup_->events->add_session_end(status) : Result<void>();
}

Result<void> TrainEnd::tell_failed_session() {
  SHOAL_TRY_VOID(tell_session_end(monitor::SessionStatus::kFailure));
  return close_events();
}

Result<void> TrainEnd::close_events() { return setup_ && setup_->events ? setup_->events->close() : Result<void>(); }

Result<void> TrainEnd::finish_folder() {
  if (end_.reason != checkpoint::EndReason::kInterrupted) {
    SHOAL_TRY_VOID(tell_session_end(monitor::SessionStatus::kSuccess));
  }
  SHOAL_TRY_VOID(close_events());
  if (!scope_.leads() || !scope_.request.write_end_mark) return {};
  return write_end_mark();
}

Result<void> TrainEnd::write_end_mark() {
  return folder_.write_end_mark(int64_t(end_.global_step), end_.reason, last_checkpoint());
}

/// Makes a RemoteStore without a model: it can claim the servers, and tell them that the job has ended.
Result<void> TrainEnd::make_store_without_plan(Duration patience) {
  const RunConfig& config = scope_.config();
  cluster::ShardPlan plan;
  plan.shards.resize(size_t(config.num_ps_replicas()), cluster::ShardSpec{.segments = {}, .arena_bytes = kBufferAlignment});
  SHOAL_TRY(transport::LinkOptions link, link_options(config));
  cluster::RemoteStoreOptions options{.identity = task_identity(scope_.env, config),
                                      .servers = server_endpoints(config),
                                      .link = std::move(link),
                                      .ready_timeout = patience,
                                      .job_ended = {}};
  scope_.incarnation = options.identity.incarnation;
  alone_ = cluster::make_remote_store(scope_.env, std::move(plan), std::move(options));
  return {};
}

/// Tells the servers of the end, until `patience` is over. Servers that this task has not trained with may be gone, or may
/// never have been there: for these it waits no longer than ready_timeout_secs.
Task<Result<void>> TrainEnd::announce(cluster::JobEnd end, Duration patience) {
  if (!setup_) patience = std::min(patience, scope_.ready_timeout());
  if (!has_servers()) SHOAL_CO_TRY_VOID(make_store_without_plan(patience));
  if (scope_.leads()) {
    Result<void> told = co_await servers()->finish(std::move(end), scope_.env.after(patience));
    if (!told) scope_.env.log().warning("a server was not told that the job has ended: " + told.error().message());
  }
  co_await leave();
  co_return Result<void>{};
}

Task<void> TrainEnd::leave() {
  Result<void> left = co_await servers()->leave(scope_.env.after(kLeaveTimeout));
  static_cast<void>(left);  // An error is ignored: this task has no more to do in the job.
}

/// Warns that training made no step. If the job was restarted, the warning has another text: the input then continued where
/// it was before the restart, and may have been at its end already.
void TrainEnd::warn_that_no_step_was_made(bool input_resumed) {
  if (!input_resumed) {
    return scope_.env.log().warning("training: the input is empty or wrongly set up; no step was made");
  }
  scope_.env.log().warning("training: no step was made: this job had come to the end of its input before (global step " +
                           std::to_string(end_.global_step) +
                           "), and a job that is started again goes on where it was; to train "
                           "on, let the input make more passes (repeat), or choose another model_dir");
}

/// Logs how the job ended. A worker may see here that the job ended because the chief failed.
void TrainEnd::say_how_it_ended() {
  const std::string at = " at global step " + std::to_string(end_.global_step);
  const std::optional<cluster::JobEnd> end = has_servers() ? servers()->job_end() : std::nullopt;
  if (end && end->failed) return scope_.env.log().warning("training ended" + at + ": " + cluster::sentence(*end));
  const bool by_steps = end_.reason == checkpoint::EndReason::kMaxSteps && scope_.request.steps;
  const std::string reason(by_steps ? "steps" : checkpoint::to_string(end_.reason));
  scope_.env.log().info("training finished" + at + " (" + reason + ")");
  const std::optional<int64_t>& max_steps = folder_.max_steps();
  const bool short_of_it = max_steps && end_.iterations > 0 && int64_t(end_.global_step) < *max_steps;
  if (!scope_.leads() || !short_of_it || end_.reason != checkpoint::EndReason::kEndOfInput) return;
  // Without a step that advances, an input that repeats would never end.
  const bool advances = !setup_ || setup_->model->spec().train_op->advances_global_step;
  scope_.env.log().warning("the training input has ended before step " + std::to_string(*max_steps) +
                           (advances ? "; repeat() makes as many passes over it as that takes"
                                     : ", which is never reached: the train_op does not advance the global step, so "
                                       "max_steps does not end the training"));
}

}  // namespace shoal
