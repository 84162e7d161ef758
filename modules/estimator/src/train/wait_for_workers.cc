// SPDX-License-Identifier: Apache-2.0
#include "train/wait_for_workers.h"

#include <algorithm>

#include "shoal/base/compute.h"
#include "train/train_end.h"

namespace shoal {
namespace {

// How long workers may take for their last steps after an interrupt.
constexpr auto kInterruptTimeout = std::chrono::seconds(5);
// If no server has seen a worker within this time after the chief's start, the worker counts as missing.
constexpr auto kFirstSeenTimeout = std::chrono::minutes(10);
// How long the chief, at the end of its own input, waits for a lost worker to come back.
constexpr auto kLostTimeout = std::chrono::seconds(60);
constexpr auto kTellWaitingEvery = std::chrono::seconds(10);

class WorkerWait {
 public:
  WorkerWait(TrainScope& scope, WorkerWaitOptions options, checkpoint::EndReason reason)
      : scope_(scope),
        env_(scope.env),
        options_(std::move(options)),
        reason_(reason),
        patient_(reason == checkpoint::EndReason::kEndOfInput && !scope.context.stop_requested()) {}

  Task<Result<checkpoint::EndReason>> run();

 private:
  Task<Result<void>> ask_to_stop();
  Task<Result<void>> look_at_place();
  std::optional<Duration> patience_for(const cluster::ServerStatus& status) const;
  std::vector<int> unseen(const cluster::ServerStatus& status) const;
  void warn_of_missing(const cluster::ServerStatus& status);
  Result<void> check_failure(const cluster::ServerStatus& status) const;
  bool is_stuck(const cluster::ServerStatus& status, Duration patience);
  void note();

  TrainScope& scope_;
  Environment& env_;
  WorkerWaitOptions options_;
  checkpoint::EndReason reason_;
  bool patient_;  // True if the chief also waits for workers that are lost or have not come yet.
  std::optional<cluster::ServerStatus> seen_;
  SteadyTime changed_at_{};  // The time of the last change in seen_.
  SteadyTime next_note_{};
  SteadyTime next_look_at_place_{};
};

Task<Result<checkpoint::EndReason>> WorkerWait::run() {
  if (!patient_) SHOAL_CO_TRY_VOID(co_await ask_to_stop());
  // The chief sends no more gradients. If the workers go on training, the chief tells the servers so, because synchronous
  // updates would otherwise wait for gradients of the chief.
  if (patient_) {
    const cluster::Rest rest{.input_ended = options_.tells_positions};
    SHOAL_CO_TRY_VOID(co_await options_.servers.rest(rest, env_.after(kLeaveTimeout)));
  }
  next_note_ = env_.after(kTellWaitingEvery);
  for (;;) {
    // If this task has to end now in order to be restarted, its next process waits for the workers.
    if (patient_ && env_.leaving().stop_requested()) co_return cancelled();
    if (patient_ && (env_.interrupted().stop_requested() || scope_.context.stop_requested())) {
      patient_ = false;
      reason_ =
          scope_.context.stop_requested() ? checkpoint::EndReason::kStopRequested : checkpoint::EndReason::kInterrupted;
      SHOAL_CO_TRY_VOID(co_await ask_to_stop());
    }
    const std::optional<uint64_t> seen = seen_ ? std::optional(seen_->changes) : std::nullopt;
    SHOAL_CO_TRY(const cluster::ServerStatus status, co_await options_.servers.status(env_.after(kLeaveTimeout), seen));
    SHOAL_CO_TRY_VOID(check_failure(status));
    const std::optional<Duration> patience = patience_for(status);
    if (!patience) warn_of_missing(status);
    if (!patience || is_stuck(status, *patience)) break;
    note();
    SHOAL_CO_TRY_VOID(co_await look_at_place());
    const bool due = patient_ && options_.saver && options_.saver->due(status.global_step, env_.now());
    if (due || (patient_ && options_.saver && options_.servers.asked_to_save())) {
      SHOAL_CO_TRY_VOID(co_await options_.saver->save_when_due(options_.servers, scope_.context, {}, options_.max_steps));
    }
  }
  co_return reason_;
}

Task<Result<void>> WorkerWait::ask_to_stop() { return options_.servers.request_stop(env_.after(kLeaveTimeout)); }

Task<Result<void>> WorkerWait::look_at_place() {
  if (!options_.check_place || env_.now() < next_look_at_place_) co_return Result<void>{};
  next_look_at_place_ = env_.after(seconds_to_duration(scope_.config().heartbeat_secs()));
  Result<void> placed = co_await compute(env_, options_.check_place);
  if (!placed && placed.error().kind() == ErrorKind::kUnavailable) co_return Result<void>{};
  co_return placed;
}

/// Returns after how much time without news the chief stops waiting for the workers in `status`; nothing if there is no
/// worker to wait for. If the chief's own input has ended, it also waits for workers that are lost or have not come yet,
/// since the last checkpoint is to contain their updates.
std::optional<Duration> WorkerWait::patience_for(const cluster::ServerStatus& status) const {
  const Duration ready_timeout = scope_.ready_timeout();
  const bool interrupted = env_.interrupted().stop_requested();
  // Servers that are restarted while a worker is disconnected do not know the worker. This is how long the chief waits for
  // such a worker to return.
  const Duration lost_timeout = std::min<Duration>(ready_timeout, kLostTimeout);
  const bool may_come_back = patient_ && env_.now() - options_.made_ready < lost_timeout;
  std::optional<Duration> patience;
  const auto at_least = [&patience](Duration duration) { patience = std::max(patience.value_or(Duration{}), duration); };
  for (const cluster::TrainerStatus& trainer : status.trainers) {
    if (trainer.index == 0) continue;
    // No task depends on a trainer that has ended. But if such a trainer is started again only after the job's end, it
    // waits in vain for a chief. So the chief gives it some time to come back before the job ends.
    if (trainer.ended && !trainer.connected && may_come_back) at_least(lost_timeout);
    if (trainer.done) continue;
    if (trainer.connected)
      at_least(patient_ ? ready_timeout : interrupted ? Duration(kInterruptTimeout) : Duration(kLeaveTimeout));
    if (!trainer.connected && patient_) at_least(lost_timeout);
  }
  const bool may_still_come =
      patient_ && env_.now() - scope_.started < std::min<Duration>(ready_timeout, kFirstSeenTimeout);
  const bool all_seen = unseen(status).empty();
  if (!all_seen && may_still_come) at_least(ready_timeout);
  if (!all_seen && may_come_back) at_least(lost_timeout);
  return patience;
}

/// Workers that the servers do not know: they have not come, or were away when the servers were started.
std::vector<int> WorkerWait::unseen(const cluster::ServerStatus& status) const {
  std::vector<int> workers;
  for (int index = 1; index < scope_.config().num_trainers(); ++index) {
    const auto is_its = [index](const cluster::TrainerStatus& trainer) { return trainer.index == index; };
    if (std::ranges::none_of(status.trainers, is_its)) workers.push_back(index);
  }
  return workers;
}

void WorkerWait::warn_of_missing(const cluster::ServerStatus& status) {
  if (!patient_ || unseen(status).empty()) return;
  env_.log().warning("some workers have not come; the job ends without them");
}

/// Says whether the wait has to end because a worker has failed for good. Returns an error only if that worker wrote values
/// that are not finite, or if the job is interrupted. Otherwise the job continues, and saves a checkpoint at its end,
/// because the updates so far are sound. Until then it saves no other one (CheckpointSaver::save_when_due()).
Result<void> WorkerWait::check_failure(const cluster::ServerStatus& status) const {
  if (!status.failure || options_.saves_nothing) return {};
  if (status.failure->of_values()) return status.failure->error();
  if (!env_.interrupted().stop_requested()) return {};
  env_.sometimes("chief.interrupted_after_a_failure");
  return status.failure->error().with_context("interrupted after a task had failed for good, so nothing more is saved");
}

/// True if nothing has happened for `patience`.
bool WorkerWait::is_stuck(const cluster::ServerStatus& status, Duration patience) {
  if (status != seen_) {
    seen_ = status;
    changed_at_ = env_.now();
    scope_.context.set_global_step(status.global_step);
  }
  if (env_.now() - changed_at_ < patience) return false;
  env_.log().warning("some workers made no progress for " + std::to_string(int64_t(to_seconds(patience))) +
                     " s; the job ends without them");
  return true;
}

void WorkerWait::note() {
  if (env_.now() < next_note_) return;
  env_.log().info("waiting for the workers to end");
  next_note_ = env_.after(kTellWaitingEvery);
}

}  // namespace

Task<Result<checkpoint::EndReason>> wait_for_workers(TrainScope& scope, WorkerWaitOptions options,
                                                     checkpoint::EndReason reason) {
  WorkerWait wait(scope, std::move(options), reason);
  co_return co_await wait.run();
}

}  // namespace shoal
