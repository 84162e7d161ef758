// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint_saver.h"

#include <algorithm>

#include "model/checkpoint_layout.h"
#include "shoal/base/compute.h"
#include "shoal/base/finite.h"
#include "shoal/monitor/progress.h"
#include "task/metered_task.h"

namespace shoal {
namespace {

constexpr uint64_t kPartBytes = uint64_t(16) << 20;
constexpr auto kPlacePause = std::chrono::seconds(1);

checkpoint::SaveInfo save_info(const cluster::StateInfo& state, const SaverOptions& options, WallTime now) {
  checkpoint::SaveInfo info;
  for (size_t i = 0; i < state.shards.size(); ++i) {
    info.counters["update_count/" + std::to_string(i)] = state.shards[i].update_count;
  }
  for (const auto& [trainer, position] : state.positions) info.positions[std::to_string(trainer)] = position;
  for (const int trainer : state.ended) info.ended.insert(std::to_string(trainer));
  info.numerics = options.numerics;
  info.fingerprint = options.fingerprint;
  info.run = options.run;
  info.meaning = options.meaning;
  info.rules = options.rules;
  info.save_time = now;
  return info;
}

/// NanLoss if `part` has an infinite value or NaN, and belongs to a residual, the part of gradients that compression has
/// kept back. `part` begins at `offset` of `arena`. Residuals are checked here because no update reads them. Weights and
/// slots were checked by the updates that wrote them (cluster::Shard::poisoned()).
Result<void> check_kept_back(const cluster::ShardSpec& spec, cluster::ArenaIndex arena, uint64_t offset,
                             std::span<const std::byte> part) {
  if (cluster::residual_trainer(arena) < 0) return {};
  for (const cluster::Segment& segment : spec.segments) {
    const uint64_t begin = std::max(offset, segment.offset);
    const uint64_t end = std::min(offset + part.size(), segment.offset + segment.bytes);
    if (begin >= end) continue;
    const auto* const values = reinterpret_cast<const float*>(part.data() + (begin - offset));
    if (all_finite({values, size_t(end - begin) / sizeof(float)})) continue;
    return nan_loss(
        "what compression has kept back of trainer " + std::to_string(cluster::residual_trainer(arena)) + " for variable " +
        segment.variable.name +
        " is infinite or NaN: no checkpoint is written of it; a lower learning rate, or a look at the input, may help");
  }
  return {};
}

}  // namespace

CheckpointSaver::CheckpointSaver(Environment& env, const RunConfig& config, SaverOptions options)
    : env_(env),
      options_(std::move(options)),
      keep_max_(config.keep_checkpoint_max().value_or(0)),
      allow_non_finite_(config.allow_non_finite()),
      timer_(config.save_checkpoints_steps(), config.save_checkpoints_secs()),
      hours_rule_(env.now(), config.keep_checkpoint_every_n_hours()) {}

Task<Result<void>> CheckpointSaver::save_at_start(cluster::Store& store, LoopContext& context,
                                                  cluster::Positions own_positions, std::optional<int64_t> last_step) {
  if (!begun_) {
    begun_ = true;
    std::function<void()> call = [this] {
      for (const auto& listener : options_.listeners) listener->begin();
    };
    SHOAL_CO_TRY_VOID(co_await tell(store, "begin", std::move(call)));
  }
  timer_.reset();
  co_return co_await save(store, context, std::move(own_positions), last_step);
}

Task<Result<void>> CheckpointSaver::save_when_due(cluster::Store& store, LoopContext& context,
                                                  cluster::Positions own_positions, std::optional<int64_t> last_step) {
  SHOAL_CO_TRY(const bool failed, co_await somebody_failed(store));
  if (failed) co_return Result<void>{};
  SHOAL_CO_TRY(std::unique_ptr<cluster::Snapshot> snapshot, co_await store.snapshot(std::move(own_positions)));
  SHOAL_CO_TRY(const bool failed_meanwhile, co_await somebody_failed(store));
  if (failed_meanwhile) co_return co_await snapshot->release();
  co_return co_await save(store, context, *snapshot, last_step);
}

Task<Result<bool>> CheckpointSaver::somebody_failed(cluster::Store& store) {
  SHOAL_CO_TRY(const std::optional<cluster::JobFailure> failure, co_await store.failure());
  if (!failure) co_return false;
  env_.log().warning_once("failure",
                          "no checkpoint is written until a task that has failed for good is back: " + failure->sentence);
  co_return true;
}

Task<Result<void>> CheckpointSaver::save(cluster::Store& store, LoopContext& context, cluster::Positions own_positions,
                                         std::optional<int64_t> last_step) {
  SHOAL_CO_TRY(std::unique_ptr<cluster::Snapshot> snapshot, co_await store.snapshot(std::move(own_positions)));
  co_return co_await save(store, context, *snapshot, last_step);
}

Task<Result<void>> CheckpointSaver::save(cluster::Store& store, LoopContext& context, cluster::Snapshot& snapshot,
                                         std::optional<int64_t> last_step) {
  const uint64_t step = snapshot.info().global_step;
  context.set_global_step(step);
  if (last_step && step >= uint64_t(*last_step)) co_return co_await snapshot.release();
  std::function<void()> before = [this, &context, step] {
    for (const auto& listener : options_.listeners) listener->before_save(context, step);
  };
  SHOAL_CO_TRY_VOID(co_await tell(store, "before_save", std::move(before)));
  {
    const MeteredPhase saving(options_.meters.get(), monitor::TaskPhase::kSaving);
    const SteadyTime begun = env_.now();
    SHOAL_CO_TRY_VOID(co_await write(store, snapshot));
    if (options_.meters) options_.meters->saved(step, env_.now() - begun, env_.wall_now());
  }
  snapshot.saved();
  // The checkpoint is complete, even if this call fails. An error means that a server that held the snapshot is lost.
  Result<void> released = co_await snapshot.release();
  timer_.trigger(step, env_.now());
  context.count_save();
  std::function<void()> after = [this, &context, step] {
    for (const auto& listener : options_.listeners) {
      if (listener->after_save(context, step, last_prefix_)) context.request_stop();
    }
  };
  SHOAL_CO_TRY_VOID(co_await tell(store, "after_save", std::move(after)));
  co_return released;
}

Task<Result<void>> CheckpointSaver::save_if_moved(cluster::Store& store, LoopContext& context,
                                                  cluster::Positions own_positions, std::optional<int64_t> last_step) {
  SHOAL_CO_TRY(const uint64_t step, co_await store.global_step());
  context.set_global_step(step);
  // Nothing to do if the last checkpoint has this step and lies in model_dir, not only in the spare folder.
  if (timer_.last_step() && *timer_.last_step() == step && !last_is_spared_) co_return Result<void>{};
  co_return co_await save(store, context, std::move(own_positions), last_step);
}

Task<Result<void>> CheckpointSaver::save_at_end(cluster::Store& store, LoopContext& context,
                                                cluster::Positions own_positions) {
  SHOAL_CO_TRY_VOID(co_await save_if_moved(store, context, std::move(own_positions)));
  if (last_is_spared_) {
    co_return unavailable("training has come to its end, but model_dir does not take the last checkpoint, which is " +
                          last_prefix_ + ": make room there and start again, which ends the job from that checkpoint");
  }
  co_return co_await end_at(store, context, context.global_step());
}

Task<Result<void>> CheckpointSaver::end_without_a_save(cluster::Store& store, LoopContext& context) {
  // If no checkpoint was written, no listener's begin() was called, so end() is not called either.
  if (!timer_.last_step()) co_return Result<void>{};
  co_return co_await end_at(store, context, *timer_.last_step());
}

Task<Result<void>> CheckpointSaver::end_at(cluster::Store& store, LoopContext& context, uint64_t step) {
  std::function<void()> call = [this, &context, step] {
    for (const auto& listener : options_.listeners) listener->end(context, step);
  };
  co_return co_await tell(store, "end", std::move(call));
}

/// Calls the listeners while heartbeats continue. A listener, such as one that evaluates, may take long, and servers and
/// other trainers must not take this task for lost.
Task<Result<void>> CheckpointSaver::tell(cluster::Store& store, std::string_view what, std::function<void()> call) {
  if (options_.listeners.empty()) co_return Result<void>{};
  const auto tell_listeners = [&call, what] { return call_user("checkpoint listener " + std::string(what), call); };
  TaskGroup beside(env_);
  beside.spawn(store.stay(beside.token()));
  Result<void> told = co_await compute(env_, tell_listeners);
  beside.request_stop();
  Result<void> stayed = co_await beside.join();
  static_cast<void>(stayed);
  co_return told;
}

/// Returns an error if model_dir no longer belongs to this run. If it cannot be reached now (Unavailable), sets
/// place_unclear_, so that the caller may try again. Runs on the compute thread.
Result<void> CheckpointSaver::look_at_place() {
  if (!options_.check_place) return {};
  Result<void> placed = options_.check_place();
  place_unclear_ = !placed && placed.error().kind() == ErrorKind::kUnavailable;
  return placed;
}

/// Writes the checkpoint to model_dir. If this fails because of the disk, and there is a spare folder, writes it there.
Task<Result<void>> CheckpointSaver::write(cluster::Store& store, cluster::Snapshot& snapshot) {
  Result<void> written = co_await write_to_model_dir(store, snapshot);
  if (!options_.spare) co_return written;
  last_is_spared_ = false;
  if (written || !disk_failed_ || place_unclear_ || written.error().kind() != ErrorKind::kUnavailable) co_return written;
  Result<void> spared = co_await compute(env_, &SpareFolder::claim, options_.spare);
  if (spared) {
    const std::string folder = options_.spare->folder();
    env_.log().warning(written.error().message() + "; training goes on, and this one is written to the spare folder " +
                       folder);
    spared = co_await try_to_write(store, snapshot, folder);
  }
  last_is_spared_ = bool(spared);
  if (spared) co_return spared;
  co_return std::move(spared).error().with_context(written.error().message() + "; and in the spare folder");
}

/// Writes to model_dir, and tries again while the folder cannot be reached, for example while a file server starts again.
/// If the folder was removed or replaced, returns the error that says so instead of the error of the write.
Task<Result<void>> CheckpointSaver::write_to_model_dir(cluster::Store& store, cluster::Snapshot& snapshot) {
  const Deadline deadline = env_.after(options_.ready_timeout);
  for (;;) {
    place_unclear_ = false;
    Result<void> written = co_await try_to_write(store, snapshot, options_.model_dir);
    if (written || !options_.check_place) co_return written;
    if (!place_unclear_) {
      Result<void> placed = co_await compute(env_, &CheckpointSaver::look_at_place, this);
      const bool gone = !placed && placed.error().kind() == ErrorKind::kFailedPrecondition;
      co_return gone ? placed : written;
    }
    if (env_.now() >= deadline || env_.interrupted().stop_requested()) co_return written;
    env_.log().warning_once("waiting for model_dir", "waiting for model_dir: " + written.error().message());
    TaskGroup beside(env_);  // Heartbeats continue: servers must not regard a chief that waits for its folder as lost.
    beside.spawn(store.stay(beside.token()));
    const Result<void> slept = co_await env_.sleep_for(kPlacePause, env_.interrupted());
    static_cast<void>(slept);  // An interrupt ends the pause early. The loop's next turn checks for it.
    beside.request_stop();
    const Result<void> stayed = co_await beside.join();
    static_cast<void>(stayed);
  }
}

/// Writes the checkpoint. If the previous checkpoint could not be read, writes it again without sharing files of that one.
Task<Result<void>> CheckpointSaver::try_to_write(cluster::Store& store, cluster::Snapshot& snapshot,
                                                 const std::string& folder) {
  const bool spare = is_spare(folder);
  Result<void> written = co_await try_to_write(store, snapshot, folder, spare ? std::nullopt : options_.sharing);
  if (written || !sharing_failed_) co_return written;
  env_.log().warning(written.error().message() + "; it is written again, whole");
  co_return co_await try_to_write(store, snapshot, folder, std::nullopt);
}

/// Writes the data files first, which takes long. Then makes sure that no other process has begun to lead meanwhile, and
/// publishes the checkpoint at once.
Task<Result<void>> CheckpointSaver::try_to_write(cluster::Store& store, cluster::Snapshot& snapshot,
                                                 const std::string& folder, std::optional<checkpoint::Sharing> sharing) {
  const int64_t step = int64_t(snapshot.info().global_step);
  const bool spare = is_spare(folder);
  disk_failed_ = sharing_failed_ = false;
  std::vector<int> arenas;
  Result<void> added;
  const auto begin = [&]() -> Result<std::unique_ptr<checkpoint::Writer>> {
    using Folder = checkpoint::Writer::Folder;
    SHOAL_TRY_VOID(look_at_place());
    SHOAL_TRY(auto begun, of_disk(checkpoint::Writer::begin(env_.storage(), folder, step,
                                                            spare ? Folder::kMadeIfMissing : Folder::kIsThere, sharing)));
    for (const cluster::ShardSpec& shard : snapshot.plan().shards) {
      auto arena = of_disk(begun->add_arena(arena_layout(shard, snapshot.info())));
      if (arena) {
        arenas.push_back(*arena);
      } else {
        added = std::move(arena).error();
      }
    }
    return begun;
  };
  SHOAL_CO_TRY(const std::unique_ptr<checkpoint::Writer> writer, co_await compute(env_, begin));
  SHOAL_CO_TRY_VOID(std::move(added));
  for (size_t shard = 0; shard < arenas.size(); ++shard) {
    SHOAL_CO_TRY_VOID(co_await stream(snapshot, *writer, arenas[shard], int(shard)));
  }
  const auto finish = [&] {
    Result<void> finished = of_disk(writer->finish(save_info(snapshot.info(), options_, env_.wall_now())));
    sharing_failed_ = !finished && writer->sharing_failed();
    return finished;
  };
  SHOAL_CO_TRY_VOID(co_await compute(env_, finish));
  SHOAL_CO_TRY_VOID(co_await store.check_lease());
  // This copy is changed, and replaces hours_rule_ once the new list of checkpoints is on disk.
  checkpoint::HoursRule rule = hours_rule_;
  const auto publish = [&]() -> Result<checkpoint::Saved> {
    SHOAL_TRY_VOID(look_at_place());
    if (options_.check_run) SHOAL_TRY_VOID(options_.check_run());
    checkpoint::CommitOptions options{.keep_max = spare ? 1 : keep_max_};
    if (!spare) options.keeps_for_good = [&rule](const std::string& name) { return rule.keeps(name); };
    options.warn = [this](const std::string& sentence) { env_.log().warning(sentence); };
    Result<checkpoint::Saved> saved = of_disk(writer->publish(std::move(options)));
    if (saved && !spare && options_.spare) options_.spare->model_dir_took(saved->manifest);
    return saved;
  };
  SHOAL_CO_TRY(const checkpoint::Saved done, co_await compute(env_, publish));
  if (!spare) {
    rule.saved(done.name, env_.now());
    hours_rule_ = std::move(rule);
  }
  for (const std::string& name : done.kept) env_.log().info("checkpoint " + name + " left the list and is kept for good");
  last_name_ = done.name;
  last_prefix_ = done.prefix;
  bytes_written_ += done.written_bytes;
  std::string bytes = monitor::format_bytes(done.written_bytes);
  if (done.written_bytes < done.data_bytes) {
    bytes += ", and " + monitor::format_bytes(done.data_bytes - done.written_bytes) + " shared with the checkpoint before";
  }
  env_.log().info("checkpoint " + done.prefix + " written at global step " + std::to_string(step) + " (" + bytes + "; " +
                  monitor::format_bytes(bytes_written_) + " by all checkpoints of this start)");
  co_return Result<void>{};
}

Task<Result<void>> CheckpointSaver::stream(cluster::Snapshot& snapshot, checkpoint::Writer& writer, int arena_number,
                                           int shard) {
  const cluster::ShardSpec& spec = snapshot.plan().shards[size_t(shard)];
  for (const cluster::ArenaIndex arena : saved_arenas(spec, snapshot.info())) {
    for (uint64_t offset = 0; offset < spec.arena_bytes; offset += kPartBytes) {
      const uint64_t bytes = std::min(kPartBytes, spec.arena_bytes - offset);
      SHOAL_CO_TRY(const cluster::Snapshot::Part part, co_await snapshot.read(shard, arena, offset, bytes));
      const auto append = [&]() -> Result<void> {
        if (!allow_non_finite_) SHOAL_TRY_VOID(check_kept_back(spec, arena, offset, part.bytes));
        Result<void> appended = of_disk(writer.append(arena_number, part.bytes));
        sharing_failed_ = !appended && writer.sharing_failed();
        return appended;
      };
      SHOAL_CO_TRY_VOID(co_await compute(env_, append));
    }
  }
  co_return Result<void>{};
}

}  // namespace shoal
