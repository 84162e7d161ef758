// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The state of one shard beside its weights: slots and counters, and the one way it changes. Used by parameter servers
/// and by local training alike.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "shoal/base/buffer.h"
#include "shoal/base/function.h"
#include "shoal/cluster/shard_plan.h"
#include "shoal/nn/apply_update.h"

namespace shoal::cluster {

struct SegmentRows;

/// What is counted about a shard and stored in checkpoints.
struct ShardCounters {
  /// The version of the weights: how many updates were applied in this epoch, since the shard was loaded.
  uint64_t version = 0;
  uint64_t update_count = 0;  ///< How many updates were applied over the life of the model: Adam's t.
  friend bool operator==(const ShardCounters&, const ShardCounters&) = default;
};

/// How the pieces of a long computation are handed out: body(begin, end) for ranges of [0, count), each number once, on any
/// threads; returns when all are done. Null: one after another, on this thread. The results are the same bits.
using ParallelFor = std::function<void(int64_t count, const UniqueFunction<void(int64_t, int64_t)>& body)>;

/// What one contributor gives to an update.
struct Contribution {
  std::span<const std::byte> gradients;           ///< The gradients, as an arena.
  std::span<const double> scalars;                ///< The scalars of the contributor's push.
  std::span<const SegmentRows* const> rows = {};  ///< Rows by segment; null or absent where they are in `gradients`.
};

/// Zeroes what lies between the segments of `arena`, so that no old memory leaves the process.
void zero_padding(const ShardSpec& spec, std::span<std::byte> arena);

/// One owner, one thread at a time. Weights live outside (in a message, or in place), since readers share them; slots live
/// here.
class Shard {
 public:
  Shard(ShardSpec spec, BufferPool& pool);

  const ShardSpec& spec() const { return spec_; }
  const ShardCounters& counters() const { return counters_; }
  void set_counters(const ShardCounters& counters) { counters_ = counters; }

  /// Says that `weights` and the slots are what the model begins with, from initializers or a restore. A segment that has
  /// a value there that is not finite (a mask of -infinity, say) is exempt from poisoned() from then on.
  void begin(std::span<const std::byte> weights);
  /// The first segment of the spec in which an update has written a value that is not finite since begin(), to the variable
  /// or to a slot; null if there is none. Exempt segments are passed over. Called between updates.
  const Segment* poisoned() const;

  /// Fills `weights` (arena_bytes) and the slots with their starting values; counters become 0.
  Result<void> initialize(std::span<std::byte> weights, const ParallelFor& parallel_for = nullptr);
  /// The next version: `next` (may be `current`) and the slots from the mean of what the contributors give, added up in
  /// their order, each gradient times its own scale; learning rates are those of the first. Slots that a snapshot holds
  /// are copied first. Of a segment with lazy rows only the rows change that somebody has a gradient for which is not
  /// all zero, and who has none is left out of such a row's sum, not of its mean. With rows given by all, and in place,
  /// such a segment costs those. InvalidArgument if sizes do not fit the spec.
  Result<void> apply(std::span<const std::byte> current, std::span<std::byte> next,
                     std::span<const Contribution> contributions, const ParallelFor& parallel_for = nullptr);

  /// The same for one contributor whose gradients come in parts: begin_update(), then update_part() for all elements once
  /// (of the segments without rows given), then finish_update(). Parts are elements [first, first + count) of one of the
  /// spec's segments, whole rows of it, all of them where its rule needs the whole variable; different parts may be updated
  /// on several threads at once. `scalars` as for apply().
  void begin_update();
  /// Called instead of finish_update(), where no part was updated: the update is not made.
  void withdraw_update();
  void update_part(const Segment& segment, int64_t first, int64_t count, std::span<const std::byte> current,
                   std::span<std::byte> next, const float* gradient, std::span<const double> scalars) const;
  /// Updates the segments with rows given (as for apply()), and takes over from `current` what no update changes, if `next`
  /// is another buffer.
  void finish_update(std::span<const std::byte> current, std::span<std::byte> next, std::span<const double> scalars,
                     std::span<const SegmentRows* const> rows = {}) const;

  /// True if the next update need not copy a slot that a snapshot holds.
  bool slots_unheld() const;
  /// Slot arenas, for snapshots: whoever keeps a reference keeps that state.
  std::span<const Ref<Buffer>> slots() const { return slots_; }
  /// The slot, to be filled by a restore.
  std::span<std::byte> mutable_slot(int slot);

 private:
  /// Where one update reads and writes.
  struct Place {
    std::span<const std::byte> current;
    std::span<std::byte> next;
    std::span<const double> scalars;
  };
  /// Elements of one segment that one thread updates at a time: whole rows where they are updated by rows, all of them
  /// where the rule needs that.
  struct Piece {
    size_t segment;
    int64_t first;
    int64_t count;
  };
  /// The arguments of one apply().
  struct Update {
    Place place;
    std::span<const Contribution> contributions;
    float factor;
  };
  /// The rows of one segment that a contributor gives.
  struct GivenRows {
    const SegmentRows* rows;
    float scale;
  };
  static std::vector<Piece> pieces_of(const ShardSpec& spec);
  void update_piece(size_t index, const Update& update);
  void update_elements(const Segment& segment, int64_t first, int64_t count, const Place& place,
                       const nn::Contributions& contributions) const;
  void update_touched(const Segment& segment, int64_t first, int64_t count, const Place& place,
                      const nn::Contributions& contributions) const;
  void update_touched_by_some(const Segment& segment, int64_t first, int64_t count, const Place& place,
                              const nn::Contributions& contributions) const;
  void update_rows(const Segment& segment, const SegmentRows& rows, const Place& place, float scale, float factor) const;
  void update_rows(const Segment& segment, std::span<const GivenRows> given, const Place& place, float factor) const;
  /// Fetches the memory of a row that is updated soon.
  void ask_for_row(const Segment& segment, uint32_t row, int64_t width, const Place& place) const;
  void update_given_rows(size_t index, const Update& update) const;
  void finish(const Update& update) const;
  void note_poison(const Segment& segment) const;

  ShardSpec spec_;
  BufferPool& pool_;
  std::vector<Ref<Buffer>> slots_;
  ShardCounters counters_;
  std::vector<Piece> pieces_;
  std::vector<bool> exempt_;  // By segment; all of them before begin().
  // The index of what poisoned() gives, or a larger one than any. Threads that update different pieces write it.
  std::unique_ptr<std::atomic<size_t>> poisoned_;
  // Gradients and scales by piece and push. Every apply() uses them again, so that steps allocate nothing, but for lazy
  // rows of several contributors.
  std::vector<const float*> gradients_;
  std::vector<float> scales_;
};

}  // namespace shoal::cluster
