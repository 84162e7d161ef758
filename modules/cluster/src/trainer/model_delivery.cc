// SPDX-License-Identifier: Apache-2.0
#include "trainer/model_delivery.h"

#include <algorithm>

#include "shoal/base/compute.h"
#include "trainer/remote_snapshot.h"

namespace shoal::cluster {
namespace {

using transport::Message;

/// Sends a server its saved values for one arena (the block of memory for all weights, for one slot of the optimizer, or
/// for a residual). Reads one segment (a tensor or some of its rows) at a time, and sends it in parts, so that at most one
/// segment and one part are in memory.
Task<Result<void>> restore_arena(ModelDelivery to, size_t shard, ArenaIndex arena, RestoreSource& restore,
                                 Deadline deadline) {
  const std::string name = arena_name(arena);
  for (const Segment& segment : to.plan.shards[shard].segments) {
    if (residual_trainer(arena) < 0 && arena > nn::slot_count(segment.variable.rule)) continue;
    // If the checkpoint lacks this segment, the server keeps its initial values.
    if (!restore.holds(segment, arena)) continue;
    Ref<Buffer> buffer = to.env.buffers().get(segment.bytes);
    const auto read = [&] { return restore.read(segment, arena, buffer->bytes()); };
    SHOAL_CO_TRY_VOID(co_await compute(to.env, read));
    for (uint64_t done = 0; done < segment.bytes; done += kSnapshotPartBytes) {
      const transport::SnapshotPart part{
          .name = name,
          .offset = segment.offset + done,
          .total_bytes = to.plan.shards[shard].arena_bytes,
          .payload = buffer->bytes().subspan(done, std::min(kSnapshotPartBytes, segment.bytes - done))};
      Message message = transport::make_snapshot_part(to.env.buffers(), part);
      SHOAL_CO_TRY_VOID((co_await to.servers.request(shard, std::move(message), deadline)));
    }
  }
  co_return Result<void>{};
}

/// Sends a residual of zeros to a server that has no variables, and thus no values to restore. A checkpoint includes a
/// trainer's residual only if every server has one.
Task<Result<void>> restore_padding(ModelDelivery to, size_t shard, ArenaIndex arena, Deadline deadline) {
  const Ref<Buffer> padding = to.env.buffers().get(to.plan.shards[shard].arena_bytes);
  std::ranges::fill(padding->bytes(), std::byte{0});
  const std::string name = arena_name(arena);
  const transport::SnapshotPart part{.name = name, .total_bytes = padding->size(), .payload = padding->bytes()};
  Message message = transport::make_snapshot_part(to.env.buffers(), part);
  SHOAL_CO_TRY_VOID((co_await to.servers.request(shard, std::move(message), deadline)));
  co_return Result<void>{};
}

Task<Result<void>> load_shard(ModelDelivery to, size_t shard, RestoreSource* restore, Deadline deadline) {
  const Prepare prepare{.epoch = to.servers.epoch(),
                        .fingerprint = to.identity.fingerprint,
                        .spec = to.plan.shards[shard],
                        .gradients = to.gradients,
                        .meaning = to.identity.meaning,
                        .run = to.identity.run,
                        .allow_non_finite = to.allow_non_finite};
  SHOAL_CO_TRY_VOID((co_await to.servers.control(shard, "prepare", to_json(prepare), deadline)));
  if (!restore) co_return Result<void>{};
  for (ArenaIndex arena = 0; arena <= to.plan.shards[shard].slot_count; ++arena) {
    SHOAL_CO_TRY_VOID(co_await restore_arena(to, shard, arena, *restore, deadline));
  }
  // Sends the saved residuals (what top-k compression left out of gradients). Each trainer later fetches its own one.
  for (const int trainer : restore->info().residuals) {
    if (to.gradients != transport::Encoding::kTopK) break;
    if (to.plan.shards[shard].segments.empty()) {
      SHOAL_CO_TRY_VOID(co_await restore_padding(to, shard, residual_arena(trainer), deadline));
    } else {
      SHOAL_CO_TRY_VOID(co_await restore_arena(to, shard, residual_arena(trainer), *restore, deadline));
    }
  }
  co_return Result<void>{};
}

/// Makes all servers ready. Shard 0 comes last: trainers wait for it, and then find the others ready.
Task<Result<void>> activate(ModelDelivery to, RestoreSource* restore, Deadline deadline) {
  for (size_t i = to.servers.size(); i-- > 0;) {
    StateText state{.epoch = to.servers.epoch(), .global_step = 0, .counters = {}, .positions = {}};
    if (restore) {
      const StateInfo& info = restore->info();
      state.global_step = info.global_step;
      // Shard i continues from its own saved update count. If the checkpoint has another number of shards, it continues
      // from the highest count of all saved shards.
      for (size_t j = 0; j < info.shards.size(); ++j) {
        if (info.shards.size() == to.servers.size() && j != i) continue;
        state.counters.update_count = std::max(state.counters.update_count, info.shards[j].update_count);
      }
      if (i == 0) state.positions = info.positions, state.ended = info.ended;
    }
    SHOAL_CO_TRY_VOID((co_await to.servers.control(i, "ready", to_json(state), deadline)));
  }
  co_return Result<void>{};
}

}  // namespace

bool is_still_held(const ModelDelivery& model, const std::vector<ServerStatus>& statuses, const RestoreSource* restore) {
  for (size_t i = 0; i < statuses.size(); ++i) {
    if (statuses[i].phase != Phase::kReady || statuses[i].epoch != statuses[0].epoch ||
        statuses[i].spec_hash != spec_hash(model.plan.shards[i]) || statuses[i].fingerprint != model.identity.fingerprint ||
        statuses[i].run.id != model.identity.run.id) {
      return false;
    }
  }
  return !restore || statuses[0].global_step >= restore->info().global_step;
}

Task<Result<void>> bring_model(ModelDelivery to, RestoreSource* restore, Deadline deadline) {
  for (size_t i = 0; i < to.servers.size(); ++i) SHOAL_CO_TRY_VOID(co_await load_shard(to, i, restore, deadline));
  co_return co_await activate(to, restore, deadline);
}

}  // namespace shoal::cluster
