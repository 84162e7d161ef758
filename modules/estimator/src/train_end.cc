// How a training task comes to an end: waiting for the others, the end mark, the last words to the servers.
#include <algorithm>

#include "shoal/checkpoint/manifest.h"
#include "train_task_steps.h"

namespace shoal {
namespace {

constexpr auto kInterruptGrace = std::chrono::seconds(5);  // for workers' last steps, when all shall end
constexpr auto kGoneBefore = std::chrono::seconds(15);     // for servers that an ended job's chief hopes to find
constexpr auto kShowUp = std::chrono::minutes(10);       // from the chief's start: a worker not seen by then is missing
constexpr auto kLostGrace = std::chrono::seconds(60);    // for a lost worker to come back, at the end of the chief's input
constexpr auto kNoteEvery = std::chrono::seconds(10);

}  // namespace

Result<void> TrainTask::finish_folder() {
  if (events_) SHOAL_TRY_VOID(events_->close());
  return remember_end();
}

/// Written by this run, or the one that it began with; empty: there is none.
std::string TrainTask::last_checkpoint() const {
  if (saver_ && !saver_->last_name().empty()) return saver_->last_name();
  return source_ ? source_->prefix().substr(source_->prefix().rfind('/') + 1) : std::string();
}

Result<void> TrainTask::remember_end() {
  if (!leads() || !request_.write_end_mark) return {};
  return write_mark(end_.global_step, last_checkpoint());
}

Result<void> TrainTask::write_mark(uint64_t global_step, std::string checkpoint) {
  return checkpoint::write_end_mark(env_.storage(), request_.estimator.model_dir(),
                                    {.run = run_,
                                     .global_step = int64_t(global_step),
                                     .checkpoint = std::move(checkpoint),
                                     .reason = end_.reason,
                                     .wall_time = env_.wall_now(),
                                     .shoal_run = host_of(config_).shoal_run});
}

/// Asked by a worker while servers cannot be reached (CONTRACT WO-4).
bool TrainTask::job_has_ended() {
  const auto mark = end_of_job_.look();
  return mark && *mark;
}

/// How long the chief waits for workers that `status` shows while nothing happens; nothing: there is nobody to wait for.
/// With its own input at an end (`patient`) it also waits for those who are on their way (CONTRACT CH-8, OE-2).
std::optional<Duration> TrainTask::patience_for(const cluster::ServerStatus& status, bool patient) const {
  const Duration ready_timeout = seconds_to_duration(config_.ready_timeout_secs());
  std::optional<Duration> patience;
  const auto at_least = [&patience](Duration duration) { patience = std::max(patience.value_or(Duration{}), duration); };
  for (const cluster::TrainerStatus& trainer : status.trainers) {
    if (trainer.index == 0 || trainer.done) continue;
    if (trainer.connected) at_least(patient ? ready_timeout : env_.interrupted().stop_requested() ? kInterruptGrace : kLastWords);
    if (!trainer.connected && patient) at_least(std::min<Duration>(ready_timeout, kLostGrace));
  }
  const bool may_still_come = patient && env_.now() - started_ < std::min<Duration>(ready_timeout, kShowUp);
  for (int trainer_index = 1; trainer_index < config_.num_trainers(); ++trainer_index) {
    const bool seen = std::any_of(status.trainers.begin(), status.trainers.end(),
                                  [&](const cluster::TrainerStatus& trainer) { return trainer.index == trainer_index; });
    if (!seen && may_still_come) at_least(ready_timeout);
  }
  return patience;
}

/// The chief stays until the workers are done, so that the last checkpoint has their work (CONTRACT CH-8): with its input at
/// an end for as long as they make progress, else for the steps that are under way.
Task<Result<void>> TrainTask::wait_for_workers() {
  bool patient = end_.reason == checkpoint::EndReason::kEndOfInput && !context_.stop_requested();
  if (!patient) SHOAL_CO_TRY_VOID(co_await remote_->request_stop(env_.after(kLastWords)));
  std::string seen;
  SteadyTime changed_at = env_.now(), next_note = env_.after(kNoteEvery);
  for (;;) {
    if (patient && (env_.interrupted().stop_requested() || context_.stop_requested())) {
      patient = false;
      end_.reason = context_.stop_requested() ? checkpoint::EndReason::kStopRequested : checkpoint::EndReason::kInterrupted;
      SHOAL_CO_TRY_VOID(co_await remote_->request_stop(env_.after(kLastWords)));
    }
    SHOAL_CO_TRY(const cluster::ServerStatus status, co_await remote_->status(env_.after(kLastWords)));
    const std::optional<Duration> patience = patience_for(status, patient);
    if (!patience) break;
    if (std::string now = cluster::to_json(status); now != seen) {
      seen = std::move(now);
      changed_at = env_.now();
      context_.set_global_step(status.global_step);
    }
    if (env_.now() - changed_at >= *patience) {
      env_.log().warning("some workers made no progress for " + std::to_string(int64_t(to_seconds(*patience))) +
                         " s; the job ends without them");
      break;
    }
    if (env_.now() >= next_note) {
      env_.log().info("waiting for the workers to end");
      next_note = env_.after(kNoteEvery);
    }
    if (patient && saver_ && saver_->due(status.global_step, env_.now())) {
      SHOAL_CO_TRY_VOID(co_await saver_->save(*store_, context_, {}, max_steps_));
    }
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(std::chrono::milliseconds(20)));
  }
  // Nobody is answered that an update counts which the last checkpoint does not have.
  co_return co_await remote_->seal(env_.after(kLastWords));
}

Task<Result<void>> TrainTask::announce_end(cluster::JobEnd end, Duration patience) {
  if (leads()) {
    Result<void> told = co_await remote_->finish(std::move(end), env_.after(patience));
    if (!told) env_.log().warning("a server was not told that the job has ended: " + told.error().message());
  }
  Result<void> left = co_await remote_->leave(env_.after(kLastWords));
  static_cast<void>(left);  // the job is over for us either way
  co_return Result<void>{};
}

/// By a chief that has nothing to train, and so no plan: who waits for it may go. Servers that cannot be reached may have
/// gone home before: this chief's predecessor told them and was killed then.
Task<Result<void>> TrainTask::announce_end_alone(cluster::JobEnd end, Duration patience) {
  cluster::ShardPlan plan;
  plan.shards.resize(size_t(config_.num_ps_replicas()), cluster::ShardSpec{.segments = {}, .arena_bytes = kBufferAlignment});
  SHOAL_CO_TRY(transport::LinkOptions link, link_options(config_));
  cluster::RemoteStoreOptions options{.identity = task_identity(env_, config_),
                                      .servers = server_endpoints(config_),
                                      .link = std::move(link),
                                      .ready_timeout = patience,
                                      .job_ended = {}};
  auto remote = cluster::make_remote_store(env_, std::move(plan), std::move(options));
  remote_ = remote.get();
  store_ = std::move(remote);
  co_return co_await announce_end(std::move(end), patience);
}

/// A task that fails for good: the same would happen to the next one. A worker says that nobody need wait for it. A chief
/// leaves no mark, but sends everyone home: servers and workers would otherwise wait for a chief that cannot come.
Task<void> TrainTask::give_up(Error why) {
  if (!leads()) {
    Result<void> left = co_await remote_->leave(env_.after(kLastWords));
    static_cast<void>(left);  // it fails either way
    co_return;
  }
  cluster::JobEnd end{.failed = true, .reason = why.message()};
  Result<void> told = co_await remote_->finish(std::move(end), env_.after(kLastWords));
  if (!told) env_.log().warning("a server was not told that the job has failed: " + told.error().message());
  Result<void> left = co_await remote_->leave(env_.after(kLastWords));  // or they would wait for us to hear of it
  static_cast<void>(left);
}

/// Interrupted while it waited for servers: an end like any other (CONTRACT FA-12), of which others must not be left to
/// guess. There is no state to save but the checkpoint that is there.
Task<Result<void>> TrainTask::end_without_servers() {
  end_ = {uint64_t(checkpoint::step_of(last_checkpoint()).value_or(0)), 0, checkpoint::EndReason::kInterrupted};
  if (began_) {  // CONTRACT FA-4
    env_.log().warning(
        "interrupted after a server lost what it held: the job ends with its last checkpoint, of global step " +
        std::to_string(end_.global_step) + "; updates since are lost");
  } else {
    env_.log().info("interrupted before training began");
  }
  SHOAL_CO_TRY_VOID(co_await on_compute(&TrainTask::finish_folder));
  if (!distributed()) co_return Result<void>{};
  cluster::JobEnd end = clean_end();
  if (remote_) co_return co_await announce_end(std::move(end), kLastWords);
  co_return co_await announce_end_alone(std::move(end), kLastWords);
}

/// CONTRACT TL-4. A job that is started again goes on in its input (DS-22), also where that had come to its end.
void TrainTask::warn_that_no_step_was_made() {
  if (!input_resumed_) {
    return env_.log().warning("training: the input is empty or wrongly set up; no step was made");
  }
  env_.log().warning("training: no step was made: this job had come to the end of its input before (global step " +
                     std::to_string(end_.global_step) +
                     "), and a job that is started again goes on where it was; to train "
                     "on, let the input make more passes (repeat), or choose another model_dir");
}

/// A worker may have been sent home by a chief that gave up.
void TrainTask::say_how_it_ended() {
  const std::string at = " at global step " + std::to_string(end_.global_step);
  const std::optional<cluster::JobEnd> end = remote_ ? remote_->job_end() : std::nullopt;
  if (end && end->failed) return env_.log().warning("training ended" + at + ": " + cluster::sentence(*end));
  env_.log().info("training finished" + at + " (" + std::string(checkpoint::to_string(end_.reason)) + ")");
}

/// The checkpoint is already there: the chief only tells the servers.
Task<Result<TrainOutcome>> TrainTask::nothing_to_do() {
  const uint64_t step = source_ ? source_->info().global_step : 0;
  env_.log().info("training finished before: the checkpoint is at global step " + std::to_string(step) +
                  ", max_steps is " + std::to_string(*max_steps_) + "; there is nothing to do");
  end_ = {step, 0, checkpoint::EndReason::kMaxSteps};
  // The mark of the run that ended stays as it is, unless it had to go before the checkpoint could be seen.
  if (request_.write_end_mark && source_ && (!mark_at_start_ || run_begun_)) {
    Result<void> marked;
    Work mark = [&] { marked = write_mark(step, last_checkpoint()); };
    SHOAL_CO_TRY_VOID(co_await env_.offload(std::move(mark)));
    SHOAL_CO_TRY_VOID(std::move(marked));
  }
  // With a mark there from the start, the servers were probably told before, and are gone.
  const Duration patience = mark_at_start_ ? Duration(kGoneBefore) : seconds_to_duration(config_.ready_timeout_secs());
  cluster::JobEnd end = clean_end();
  if (distributed()) SHOAL_CO_TRY_VOID(co_await announce_end_alone(std::move(end), patience));
  TrainOutcome result = outcome();
  result.nothing_to_do = true;
  co_return result;
}

}  // namespace shoal
