// SPDX-License-Identifier: Apache-2.0
#include "train/train_run.h"

#include <algorithm>
#include <utility>

#include "evaluate/local_evaluation.h"
#include "model/rules.h"
#include "shoal/base/compute.h"
#include "task/give_way.h"
#include "task/task_network.h"
#include "train/keep_weights.h"
#include "train/training_warnings.h"
#include "train/wait_for_workers.h"
#include "train/worker_rest.h"

namespace shoal {
namespace {

// The first pause between attempts to reach servers that lost their state.
constexpr auto kBackOffFirst = std::chrono::milliseconds(50);
constexpr auto kBackOffMax = std::chrono::seconds(1);

}  // namespace

TrainRun::TrainRun(TrainScope& scope, TrainerFolder& folder, const std::vector<std::unique_ptr<ResumableInput>>& inputs,
                   TrainEnd& end, TrainSetup setup)
    : scope_(scope), env_(scope.env), folder_(folder), inputs_(inputs), end_(end), setup_(std::move(setup)) {
  end_.take(setup_);
  for (const auto& input : inputs_) input->set_pass(folder_.start_number());
}

Task<Result<void>> TrainRun::run() {
  Result<cluster::Ready> ready = co_await recover();
  end_.give_up_claim();
  if (ready) co_return co_await train(std::move(ready).value());
  if (ends_with_the_job(ready.error()) && !env_.interrupted().stop_requested()) {
    end_.came_too_late();
    co_return Result<void>{};
  }
  co_return std::move(ready).error();
}

bool TrainRun::ends_with_the_job(const Error& error) const {
  return error.kind() == ErrorKind::kCancelled && !error.cause() && setup_.servers && setup_.servers->job_is_over();
}

Task<Result<void>> TrainRun::train(cluster::Ready ready) {
  begun_ = true;
  TrainingLoop loop(env_, scope_.context, loop_options());
  auto ended = co_await loop.run(std::move(ready));
  for (bool completes = false;;) {
    if (!ended) co_return std::move(ended).error();
    end_.reached(*ended, inputs_.front()->is_resumed());
    const bool leaves = env_.leaving().stop_requested() && ended->reason == checkpoint::EndReason::kInterrupted;
    Result<void> closed = cancelled();
    if (!leaves) closed = co_await close(loop);
    // close() may find a NaN or infinite value that is to end the training without an error. It is then called a second
    // time, and saves nothing.
    if (!closed && loop.ends_quietly(closed.error())) closed = co_await close(loop);
    if (closed) co_return co_await end_.finish();
    if (gives_way(env_, closed.error())) {
      SHOAL_CO_TRY(const bool complete, co_await give_way(loop));
      if (!complete || std::exchange(completes, true)) co_return cancelled();
      ended = loop.end();
      continue;
    }
    if (!loop.is_recoverable(closed.error())) co_return std::move(closed).error();
    // After an interrupt this task does not wait until the lost servers are back.
    if (env_.interrupted().stop_requested()) co_return cancelled();
    if (scope_.request.last_evaluation) scope_.request.last_evaluation->set_ending(false);
    const LoopEnd before = *ended;
    ended = co_await loop.resume(std::move(closed).error());
    // True if the job ended while this worker, whose part of the training was done, tried to reach lost servers again.
    const bool over = !ended && !scope_.leads() && ends_with_the_job(ended.error());
    if (over) ended = before;
    job_is_over_ = over;
  }
}

/// Runs the last part of training, which still needs the servers. If a server is lost now, the job recovers and trains
/// again. A worker calls end() of its hooks only when the end of the job is announced.
Task<Result<void>> TrainRun::close(TrainingLoop& loop) {
  if (setup_.servers && scope_.leads()) {
    WorkerWaitOptions options{.servers = *setup_.servers,
                              .saver = setup_.saver.get(),
                              .max_steps = folder_.max_steps(),
                              .made_ready = made_ready_,
                              .tells_positions = inputs_.front()->tells_positions(),
                              .saves_nothing = loop.is_poisoned()};
    options.check_place = [this] { return folder_.check_place(); };
    SHOAL_CO_TRY(const checkpoint::EndReason reason, co_await wait_for_workers(scope_, std::move(options), end_.reason()));
    end_.ends_for(reason);
    // From now on servers confirm no update, since the last checkpoint would not contain it.
    SHOAL_CO_TRY_VOID(co_await setup_.servers->seal(env_.after(kLeaveTimeout)));
  }
  if (setup_.servers && !scope_.leads() && !job_is_over_) SHOAL_CO_TRY_VOID(co_await rest());
  if (scope_.request.last_evaluation) scope_.request.last_evaluation->set_ending(true);
  SHOAL_CO_TRY_VOID(co_await loop.finish());
  if (!scope_.request.keep_weights || !scope_.leads() || loop.is_poisoned()) co_return Result<void>{};
  const EstimatorSpec& spec = setup_.model->spec();
  TrainedWeights known{.meaning = setup_.model->graph().meaning().encode(),
                       .rules = encode_rules(rules_of(spec.loss, *spec.train_op)),
                       .run = folder_.run_text()};
  SHOAL_CO_TRY(weights_, co_await keep_weights(env_, *setup_.store, std::move(known)));
  co_return Result<void>{};
}

/// Ends this process so that the task can be restarted while the job goes on. The leader saves the state; a worker sends
/// the residuals of its compression to the servers. Returns true if other trainers have reached max_steps meanwhile: then
/// the caller has to complete the job instead.
Task<Result<bool>> TrainRun::give_way(TrainingLoop& loop) {
  if (setup_.servers &&
      // A launcher stops tasks by the same signal for a restart and after another task has failed. After a failure nothing
      // may be saved, so the leading task asks the servers whether a task has failed.
      scope_.leads()) {
    const auto status = co_await setup_.servers->look(env_.after(kLeaveTimeout));
    if (status && status->failure) {
      co_return status->failure->error().with_context(
          "told to give way after a task had failed for good, so nothing more is saved");
    }
  }
  Result<bool> saved = co_await loop.save_to_give_way();
  if (saved && !*saved) co_return true;
  if (!saved && loop.is_recoverable(saved.error())) {
    env_.log().warning("this task gives way while a server is lost: the steps since the last checkpoint are lost with it");
  } else if (!saved && !gives_way(env_, saved.error())) {
    co_return saved;
  }
  co_await end_.give_way();
  co_return false;
}

Task<Result<void>> TrainRun::rest() {
  const checkpoint::EndReason reason = end_.reason();
  const bool asked = reason == checkpoint::EndReason::kStopRequested && !scope_.context.stop_requested();
  WorkerRestOptions options{
      .servers = *setup_.servers,
      .folder = folder_,
      .input_ended = reason == checkpoint::EndReason::kEndOfInput && inputs_.front()->tells_positions(),
      .stopped_by_job = asked,
      .why = std::string(checkpoint::to_string(reason))};
  SHOAL_CO_TRY_VOID(co_await rest_until_the_end(scope_, std::move(options)));
  const bool interrupted = env_.interrupted().stop_requested() && !setup_.servers->job_end();
  // This process ends only to be started again by the launcher. The job goes on, so it must not be marked as ended.
  if (interrupted && env_.leaving().stop_requested()) co_return cancelled();
  if (interrupted) end_.ends_for(checkpoint::EndReason::kInterrupted);
  co_return Result<void>{};
}

LoopOptions TrainRun::loop_options() {
  LoopOptions options{.model = setup_.model.get(),
                      .store = setup_.store.get(),
                      .inputs = {},
                      .fetch_names = setup_.fetch_names,
                      .final_values = setup_.final_values,
                      .hooks = setup_.hooks,
                      .saver = setup_.saver.get(),
                      .metrics = setup_.metrics.get(),
                      .input_watch = {.progress = setup_.progress,
                                      .events = setup_.events.get(),
                                      .cores = scope_.env.process().usable_cores},
                      .max_steps = folder_.max_steps(),
                      .trainer_index = uint64_t(scope_.config().trainer_index()),
                      .allow_non_finite = scope_.config().allow_non_finite(),
                      .stops_quietly = setup_.stops_quietly,
                      .observer = host_of(scope_.config()).observer.get(),
                      .meters = host_of(scope_.config()).meters.get(),
                      .check_place = nullptr,
                      .check_place_every = seconds_to_duration(scope_.config().heartbeat_secs()),
                      .recover = nullptr};
  if (scope_.leads()) options.check_place = [this] { return folder_.check_place(); };
  for (const auto& input : inputs_) options.inputs.push_back(&input->drawn());
  if (scope_.distributed()) options.recover = [this] { return recover(); };
  return options;
}

Task<Result<cluster::Ready>> TrainRun::make_ready() {
  const Deadline deadline = env_.after(scope_.ready_timeout());
  CheckpointSource* checkpoint = folder_.use_checkpoint();
  cluster::RestoreSource* source = checkpoint;
  const bool initial = !checkpoint && setup_.initial;
  if (initial) source = setup_.initial.get();
  if (checkpoint && scope_.distributed()) forget_void_ends(*checkpoint);
  // `asked` is a variable because g++ 12 destroys the result of a co_await in a conditional expression twice.
  Task<Result<cluster::Ready>> asked =
      scope_.leads() ? setup_.store->prepare(source, deadline) : setup_.store->attach(deadline);
  Result<cluster::Ready> ready = co_await std::move(asked);
  if (!ready) co_return ready;
  made_ready_ = env_.now();
  if (ready->attached && scope_.leads()) {
    env_.log().info("the servers still hold the model at global step " + std::to_string(ready->global_step) +
                    "; training goes on from there");
  } else if (initial) {
    for (const std::string& summary : setup_.initial->summaries()) env_.log().info(summary);
  } else if (checkpoint && scope_.leads()) {
    warn_about_leavings(env_.log(), *checkpoint, setup_.store->plan());
  }
  const auto move = [this, &ready]() -> Result<void> {
    if (!scope_.leads()) SHOAL_TRY_VOID(adopt_run(ready->run));
    return move_inputs(*ready);
  };
  SHOAL_CO_TRY_VOID(co_await compute(env_, move));
  co_return ready;
}

/// Takes over `run`, the run to which the model on the servers belongs. FailedPrecondition if this task belongs to another
/// run. A worker that found no run in model_dir (or sees another folder) gets the run's seed here, and uses it from its
/// first batch on.
Result<void> TrainRun::adopt_run(const cluster::RunIdentity& run) {
  if (run.id.empty()) return {};
  // The folder is read again: a worker that came before the chief may have seen the run.json of an earlier run.
  SHOAL_TRY(const std::string seen, folder_.seen_run());
  const std::string own = begun_ ? scope_.run.id : seen;
  if (!own.empty() && own != run.id) {
    env_.sometimes("trainer.servers_of_another_run");
    scope_.is_stranger = true;
    return failed_precondition("two jobs at one address: the parameter servers hold the model of run " + run.id + ", and " +
                               (begun_ ? "this worker trained" : "model_dir " + scope_.model_dir() + " is of") + " run " +
                               own + "; give each job addresses of its own, or end the other job first");
  }
  setup_.servers->know_run(run.id);
  if (run == scope_.run) return {};
  const bool reseeds = run.seed != scope_.run.seed && !scope_.config().random_seed() && !begun_;
  const int64_t own_seed = scope_.run.seed;
  scope_.run = run;
  if (!reseeds) {
    scope_.run.seed = own_seed;
    return {};
  }
  setup_.model->reseed(RandomKey(run.seed));
  for (const auto& input : inputs_) SHOAL_TRY_VOID(input->reseed());
  return {};
}

/// A checkpoint says which trainers had come to the end of their input. That is no longer true if the input has changed
/// since then, or is divided among trainers in another way. A sign of such a change: the position in the input that the
/// checkpoint has for the chief does not exist in the chief's present input. If so, makes `checkpoint` forget which
/// trainers had come to the end.
void TrainRun::forget_void_ends(CheckpointSource& checkpoint) {
  const cluster::Positions& positions = checkpoint.info().positions;
  const auto own = positions.find(0);
  if (own != positions.end() && !inputs_.front()->has_place(own->second)) checkpoint.forget_ended();
}

Result<void> TrainRun::move_inputs(const cluster::Ready& ready) {
  SHOAL_TRY_VOID(inputs_.front()->move_to(ready.position));
  for (size_t i = 1; i < inputs_.size(); ++i) {
    const auto found = ready.other_positions.find(int(i));
    std::optional<std::string> position;
    if (found != ready.other_positions.end()) position = found->second;
    SHOAL_TRY_VOID(inputs_[i]->move_to(position));
  }
  return {};
}

Task<Result<cluster::Ready>> TrainRun::recover() {
  const Deadline deadline = env_.after(scope_.ready_timeout());
  Duration back_off = kBackOffFirst;
  std::string told;  // The newest error that was logged here. TrainingLoop logs why it recovers.
  for (;;) {
    if (scope_.leads() && !folder_.checkpoint_is_fresh()) {
      SHOAL_CO_TRY_VOID(co_await compute(env_, &TrainerFolder::reopen_checkpoint, &folder_));
    }
    auto ready = co_await make_ready();
    if (ready || ready.error().kind() != ErrorKind::kUnavailable || !setup_.store->lost()) co_return ready;
    if (env_.now() >= deadline) {
      co_return deadline_exceeded("waiting for the parameter servers: " + ready.error().message());
    }
    if (!begun_ && ready.error().message() != told) {
      told = ready.error().message();
      env_.log().warning("waiting for the parameter servers: " + told);
    }
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(back_off, env_.interrupted()));
    // While this worker waits for servers, the chief may have begun a run in model_dir: reads that run's id.
    if (!scope_.leads() && !begun_) {
      SHOAL_CO_TRY(std::string seen, co_await compute(env_, &TrainerFolder::seen_run, &folder_));
      setup_.servers->know_run(std::move(seen));
    }
    back_off = std::min<Duration>(back_off * 2, kBackOffMax);
  }
}

}  // namespace shoal
