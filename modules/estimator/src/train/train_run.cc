#include "train/train_run.h"

#include <algorithm>

#include "evaluate/local_evaluation.h"
#include "shoal/base/compute.h"
#include "task/task_network.h"
#include "train/training_warnings.h"
#include "train/wait_for_workers.h"

namespace shoal {
namespace {

// The first pause between attempts to find servers that lost their state.
constexpr auto kBackOffFirst = std::chrono::milliseconds(50);
constexpr auto kBackOffMax = std::chrono::seconds(1);

}  // namespace

TrainRun::TrainRun(TrainScope& scope, TrainerFolder& folder, const std::vector<std::unique_ptr<ResumableInput>>& inputs,
                   TrainEnd& end, TrainSetup setup)
    : scope_(scope), env_(scope.env), folder_(folder), inputs_(inputs), end_(end), setup_(std::move(setup)) {
  end_.take(setup_);
}

Task<Result<void>> TrainRun::run() {
  Result<cluster::Ready> ready = co_await recover();
  if (ready) co_return co_await train(std::move(ready).value());
  const bool job_is_over = setup_.servers && ready.error().kind() == ErrorKind::kCancelled;
  if (job_is_over && !env_.interrupted().stop_requested()) {
    end_.came_too_late();
    co_return Result<void>{};
  }
  co_return std::move(ready).error();
}

Task<Result<void>> TrainRun::train(cluster::Ready ready) {
  begun_ = true;
  TrainingLoop loop(env_, scope_.context, loop_options());
  auto ended = co_await loop.run(std::move(ready));
  for (;;) {
    if (!ended) co_return std::move(ended).error();
    end_.reached(*ended, inputs_.front()->is_resumed());
    Result<void> closed = co_await close(loop);
    if (!closed && loop.ends_quietly(closed.error())) closed = co_await close(loop);  // Once more, saving nothing.
    if (closed) co_return co_await end_.finish();
    if (!loop.is_recoverable(closed.error())) co_return std::move(closed).error();
    if (env_.interrupted().stop_requested()) co_return cancelled();  // Nobody waits for the server now.
    if (scope_.request.last_evaluation) scope_.request.last_evaluation->set_ending(false);
    ended = co_await loop.resume(std::move(closed).error());
  }
}

/// What comes after the last step while the servers are still needed: a server lost now takes the job back into training.
Task<Result<void>> TrainRun::close(TrainingLoop& loop) {
  if (setup_.servers && scope_.leads()) {
    WorkerWaitOptions options{.servers = *setup_.servers,
                              .saver = setup_.saver.get(),
                              .max_steps = folder_.max_steps(),
                              .saves_nothing = loop.is_poisoned()};
    SHOAL_CO_TRY(const checkpoint::EndReason reason, co_await wait_for_workers(scope_, std::move(options), end_.reason()));
    end_.ends_for(reason);
    // Nobody is answered that an update counts which the last checkpoint does not have.
    SHOAL_CO_TRY_VOID(co_await setup_.servers->seal(env_.after(kLeaveTimeout)));
  }
  if (scope_.request.last_evaluation) scope_.request.last_evaluation->set_ending(true);
  co_return co_await loop.finish();
}

LoopOptions TrainRun::loop_options() {
  LoopOptions options{.model = setup_.model.get(),
                      .store = setup_.store.get(),
                      .inputs = {},
                      .fetch_names = setup_.fetch_names,
                      .hooks = setup_.hooks,
                      .saver = setup_.saver.get(),
                      .metrics = setup_.metrics.get(),
                      .max_steps = folder_.max_steps(),
                      .trainer_index = uint64_t(scope_.config().trainer_index()),
                      .allow_non_finite = scope_.config().allow_non_finite(),
                      .stops_quietly = setup_.stops_quietly,
                      .witness = host_of(scope_.config()).witness.get(),
                      .recover = nullptr};
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
  // Named first: g++ 12 destroys twice what a co_await in a conditional expression gives.
  Task<Result<cluster::Ready>> asked =
      scope_.leads() ? setup_.store->prepare(source, deadline) : setup_.store->attach(deadline);
  Result<cluster::Ready> ready = co_await std::move(asked);
  if (!ready) co_return ready;
  if (ready->attached && scope_.leads()) {
    env_.log().info("the servers still hold the model at global step " + std::to_string(ready->global_step) +
                    "; training goes on from there");
  } else if (initial) {
    for (const std::string& summary : setup_.initial->summaries()) env_.log().info(summary);
  } else if (checkpoint && scope_.leads()) {
    warn_about_leavings(env_.log(), *checkpoint, setup_.store->plan());
  }
  const auto move = [this, &ready] { return move_inputs(*ready); };
  SHOAL_CO_TRY_VOID(co_await compute(env_, move));
  co_return ready;
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
  for (;;) {
    if (scope_.leads() && !folder_.checkpoint_is_fresh()) {
      SHOAL_CO_TRY_VOID(co_await compute(env_, &TrainerFolder::reopen_checkpoint, &folder_));
    }
    auto ready = co_await make_ready();
    if (ready || ready.error().kind() != ErrorKind::kUnavailable || !setup_.store->lost()) co_return ready;
    if (env_.now() >= deadline) {
      co_return deadline_exceeded("waiting for the parameter servers: " + ready.error().message());
    }
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(back_off, env_.interrupted()));
    back_off = std::min<Duration>(back_off * 2, kBackOffMax);
  }
}

}  // namespace shoal
