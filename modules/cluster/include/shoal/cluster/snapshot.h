// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A snapshot: the state of a whole job at one moment. A checkpoint stores a snapshot, and a restore reads it.
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/buffer.h"
#include "shoal/base/environment.h"
#include "shoal/cluster/shard.h"
#include "shoal/cluster/shard_plan.h"

namespace shoal::cluster {

/// By index of the trainer (the chief is 0): the position of its input after the last batch whose push was committed.
using Positions = std::map<int, std::string>;

/// The state of a job at one moment, apart from the arenas.
struct StateInfo {
  uint64_t global_step = 0;
  std::vector<ShardCounters> shards;
  Positions positions;
  /// Trainers whose inputs have ended. For these trainers `positions` has the position of the end.
  std::set<int> ended = {};
  /// Trainers whose residual_arena() is part of the snapshot on every shard; ascending.
  std::vector<int> residuals;
};

/// The number of one of a shard's arenas: 0 has the weights, 1 + k has slot k, and residual_arena() has the gradient values
/// that a trainer's compression has not sent yet.
using ArenaIndex = int32_t;
inline constexpr int kSlotArenasMax = 8;    ///< The arena numbers reserved for slots; nn::kSlotsMax may grow to this.
inline constexpr int kTrainersMax = 65537;  ///< A chief, and workers 0 to 65535.
inline constexpr ArenaIndex residual_arena(int trainer) { return 1 + kSlotArenasMax + trainer; }
/// The trainer of a residual_arena(); -1 for any other arena.
inline constexpr int residual_trainer(ArenaIndex arena) { return arena > kSlotArenasMax ? arena - 1 - kSlotArenasMax : -1; }

/// A state of the job that stays readable while training goes on. The destructor frees it.
class Snapshot {
 public:
  virtual ~Snapshot() = default;
  virtual const StateInfo& info() const = 0;
  virtual const ShardPlan& plan() const = 0;
  struct Part {
    std::span<const std::byte> bytes;  ///< Valid while `holder` lives.
    Ref<const Buffer> holder;
  };
  /// Notes that this snapshot has become a checkpoint; release() tells the servers so.
  virtual void saved() {}
  /// Frees the snapshot now, here and on the servers. (The destructor frees it in this process only.)
  virtual Task<Result<void>> release() = 0;
  /// Reads `bytes` bytes of an arena from `offset`.
  virtual Task<Result<Part>> read(int shard, ArenaIndex arena, uint64_t offset, uint64_t bytes) = 0;
};

/// A source of state to restore: a checkpoint. read() blocks, so it is called through offload().
class RestoreSource {
 public:
  virtual ~RestoreSource() = default;
  virtual const StateInfo& info() const = 0;
  /// False for a segment that is to keep its initial value: a warm start has values for some variables only.
  virtual bool holds(const Segment&, ArenaIndex) const { return true; }
  /// Fills `out` with the segment's rows of the weights (arena 0) or of a slot.
  virtual Result<void> read(const Segment& segment, ArenaIndex arena, std::span<std::byte> out) = 0;
};

}  // namespace shoal::cluster
