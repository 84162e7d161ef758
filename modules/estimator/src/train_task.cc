#include "train_task.h"

#include <algorithm>

#include "train_task_steps.h"

namespace shoal {

Task<Result<void>> TrainTask::on_compute(Result<void> (TrainTask::*method)()) {
  Result<void> outcome;
  Work work = [this, method, &outcome] { outcome = (this->*method)(); };
  SHOAL_CO_TRY_VOID(co_await env_.offload(std::move(work)));
  co_return outcome;
}

/// A chief that is interrupted while it has no servers, or fails for good before it reached them, sends everyone home too.
Task<Result<TrainOutcome>> TrainTask::run() {
  started_ = env_.now();
  Result<TrainOutcome> outcome = co_await run_steps();
  if (!outcome && is_permanent(outcome.error()) && distributed() && leads() && !remote_) {
    cluster::JobEnd end{.failed = true, .reason = outcome.error().message()};
    Result<void> told = co_await announce_end_alone(std::move(end), kLastWords);
    static_cast<void>(told);  // the failure itself is what the user has to see
  }
  if (!outcome && is_interrupt(outcome.error())) {
    if (leads() && env_.interrupted().stop_requested()) {
      SHOAL_CO_TRY_VOID(co_await end_without_servers());
    } else {
      env_.log().info(began_ ? "ended while it waited for its servers" : "interrupted before training began");
    }
  }
  co_return outcome;
}

Task<Result<TrainOutcome>> TrainTask::run_steps() {
  SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::look_at_folder));
  if (finished_before_) env_.sometimes("training.nothing_to_do");
  if (finished_before_) co_return co_await nothing_to_do();
  SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::open_training_input));
  if (!types_) {
    warn_that_no_step_was_made();
    end_.reason = checkpoint::EndReason::kEndOfInput;
    if (distributed() && leads()) {  // nobody can train: send them home
      SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::remember_end));
      cluster::JobEnd end = clean_end();
      SHOAL_CO_TRY_VOID(co_await announce_end_alone(std::move(end), seconds_to_duration(config_.ready_timeout_secs())));
    }
    co_return outcome();
  }
  SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::build_model));
  SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::make_hooks));
  SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::plan_store));
  co_return co_await train();
}

Task<Result<cluster::Ready>> TrainTask::make_ready() {
  const Deadline deadline = env_.after(seconds_to_duration(config_.ready_timeout_secs()));
  // Named first: g++ 12 destroys twice what a co_await in a conditional expression gives.
  Task<Result<cluster::Ready>> asked = leads() ? store_->prepare(source_.get(), deadline) : store_->attach(deadline);
  Result<cluster::Ready> ready = co_await std::move(asked);
  if (!ready) co_return ready;
  if (ready->attached && leads()) {
    env_.log().info("the servers still hold the model at global step " + std::to_string(ready->global_step) +
                    "; training goes on from there");
  }
  Result<void> moved;
  const std::optional<std::string> position = ready->position;
  Work move = [this, &position, &moved] { moved = move_input(position); };
  SHOAL_CO_TRY_VOID(co_await env_.offload(std::move(move)));
  SHOAL_CO_TRY_VOID(std::move(moved));
  co_return ready;
}

Task<Result<cluster::Ready>> TrainTask::recover() {
  const Deadline deadline = env_.after(seconds_to_duration(config_.ready_timeout_secs()));
  Duration back_off = std::chrono::milliseconds(50);
  for (;;) {
    if (leads() && !source_is_fresh_) SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::reopen_checkpoint));
    source_is_fresh_ = false;
    auto ready = co_await make_ready();
    if (ready || ready.error().kind() != ErrorKind::kUnavailable || !store_->lost()) co_return ready;
    if (env_.now() >= deadline) {
      co_return deadline_exceeded("waiting for the parameter servers: " + ready.error().message());
    }
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(back_off, env_.interrupted()));
    back_off = std::min<Duration>(back_off * 2, std::chrono::seconds(1));
  }
}

LoopOptions TrainTask::loop_options() {
  LoopOptions options{.model = model_.get(),
                      .store = store_.get(),
                      .input = &input_,
                      .fetch_names = fetch_names_,
                      .hooks = hooks_,
                      .saver = saver_.get(),
                      .max_steps = max_steps_,
                      .trainer_index = uint64_t(config_.trainer_index()),
                      .witness = host_of(config_).witness.get(),
                      .recover = nullptr};
  if (distributed()) options.recover = [this] { return recover(); };
  return options;
}

Task<Result<TrainOutcome>> TrainTask::train() {
  auto ready = co_await recover();
  if (remote_ && !ready && ready.error().kind() == ErrorKind::kCancelled && !env_.interrupted().stop_requested()) {
    const std::optional<cluster::JobEnd> end = remote_->job_end();
    if (end && end->failed) {
      env_.log().warning("nothing to do for this task: " + cluster::sentence(*end));
    } else {
      env_.log().info("training finished before this task arrived; nothing to do");
    }
    co_return outcome();
  }
  if (!ready) {
    if (remote_ && is_permanent(ready.error())) co_await give_up(ready.error());
    co_return std::move(ready).error();
  }
  began_ = true;
  TrainingLoop loop(env_, context_, loop_options());
  auto ended = co_await loop.run(*ready);
  for (;;) {
    if (!ended) {
      if (remote_ && is_permanent(ended.error())) co_await give_up(ended.error());
      co_return std::move(ended).error();
    }
    end_ = *ended;
    Result<void> closed = co_await close(loop);
    if (closed) break;
    if (!loop.is_recoverable(closed.error())) co_return std::move(closed).error();
    if (env_.interrupted().stop_requested()) co_return cancelled();  // nobody waits for the server now
    ended = co_await loop.resume(std::move(closed).error());
  }
  end_.global_step = context_.global_step();
  // The mark first: a chief that is killed in between finds the servers still there when it comes back.
  SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::finish_folder));
  cluster::JobEnd end = clean_end();
  if (remote_) SHOAL_CO_TRY_VOID(co_await announce_end(std::move(end), kLastWords));
  say_how_it_ended();
  co_return outcome();
}

/// What comes after the last step while the servers are still needed: a server lost now takes the job back into training.
Task<Result<void>> TrainTask::close(TrainingLoop& loop) {
  if (end_.iterations == 0 && end_.reason == checkpoint::EndReason::kEndOfInput) warn_that_no_step_was_made();
  if (remote_ && leads()) SHOAL_CO_TRY_VOID(co_await wait_for_workers());
  co_return co_await loop.finish();
}

TrainOutcome TrainTask::outcome() const {
  return {.nothing_to_do = false,
          .global_step = end_.global_step,
          .iterations = end_.iterations,
          .reason = end_.reason,
          .last_checkpoint = last_checkpoint(),
          .seconds = progress_ ? progress_->seconds() : 0,
          .examples = progress_ ? progress_->examples() : 0};
}

Task<Result<TrainOutcome>> train_task(Environment& env, const TrainRequest& request) {
  TrainTask task(env, request);
  co_return co_await task.run();
}

}  // namespace shoal
