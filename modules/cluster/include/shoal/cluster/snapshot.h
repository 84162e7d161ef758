// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The whole state of a job at one moment: what checkpoints are made of, and what they are restored to.
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

/// The input position of each trainer after the last of its batches that counts. Key: trainer index (chief 0).
using Positions = std::map<int, std::string>;

/// The whole state of a job at one moment, beside the arenas themselves.
struct StateInfo {
  uint64_t global_step = 0;
  std::vector<ShardCounters> shards;
  Positions positions;
  /// Trainers whose inputs have ended, at these positions: they make no more batches.
  std::set<int> ended = {};
  /// Trainers whose residual_arena() is part of the state, on every shard; ascending.
  std::vector<int> residuals;
};

/// Arena 0 is the weights, arena 1 + k is slot k, residual_arena() what a trainer's compression has kept back.
using ArenaIndex = int32_t;
inline constexpr int kSlotArenasMax = 8;    ///< How many numbers are kept for slots: nn::kSlotsMax may grow to it.
inline constexpr int kTrainersMax = 65537;  ///< A chief, and workers 0 to 65535.
inline constexpr ArenaIndex residual_arena(int trainer) { return 1 + kSlotArenasMax + trainer; }
/// The trainer of a residual_arena(); -1 for another arena.
inline constexpr int residual_trainer(ArenaIndex arena) { return arena > kSlotArenasMax ? arena - 1 - kSlotArenasMax : -1; }

/// A held state, read at leisure while training goes on. Destroying it lets go.
class Snapshot {
 public:
  virtual ~Snapshot() = default;
  virtual const StateInfo& info() const = 0;
  virtual const ShardPlan& plan() const = 0;
  struct Part {
    std::span<const std::byte> bytes;  ///< Valid while `holder` lives.
    Ref<const Buffer> holder;
  };
  /// What it holds has become a checkpoint, so release() tells servers that, too.
  virtual void saved() {}
  /// Lets go now, and tells servers so; the destructor only lets go here.
  virtual Task<Result<void>> release() = 0;
  /// `bytes` of an arena from `offset`.
  virtual Task<Result<Part>> read(int shard, ArenaIndex arena, uint64_t offset, uint64_t bytes) = 0;
};

/// Where restored state comes from (a checkpoint). read() blocks: it is called through offload().
class RestoreSource {
 public:
  virtual ~RestoreSource() = default;
  virtual const StateInfo& info() const = 0;
  /// False for what keeps its initial value instead, wherever that is made: a warm start brings some variables only.
  virtual bool holds(const Segment&, ArenaIndex) const { return true; }
  /// Fills `out` with the segment's rows of the weights (arena 0) or of a slot.
  virtual Result<void> read(const Segment& segment, ArenaIndex arena, std::span<std::byte> out) = 0;
};

}  // namespace shoal::cluster
