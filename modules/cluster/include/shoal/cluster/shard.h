// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The state of one shard apart from its weights (slots and counters), and the updates that change it. Parameter
/// servers and local training both use it.
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

/// Counters of a shard that checkpoints store.
struct ShardCounters {
  /// The version of the weights: the number of updates applied since the shard was loaded.
  uint64_t version = 0;
  uint64_t update_count = 0;  ///< The number of updates applied over the life of the model: Adam's t.
  friend bool operator==(const ShardCounters&, const ShardCounters&) = default;
};

/// Runs body(begin, end) for ranges that cover [0, count), each number once, on any threads; returns when all are done.
/// Null: runs them one after another on the calling thread. The results have the same bits either way.
using ParallelFor = std::function<void(int64_t count, const UniqueFunction<void(int64_t, int64_t)>& body)>;

/// What one trainer contributes to an update.
struct Contribution {
  std::span<const std::byte> gradients;  ///< The gradients of all variables, in the layout of the weights.
  std::span<const double> scalars;       ///< The scalars of the push, such as learning rates.
  /// Gradients as rows, by segment; null or missing if a segment's gradient is in `gradients`.
  std::span<const SegmentRows* const> rows = {};
};

/// Zeroes the gaps between the segments of `arena`, so that no old contents of this memory are sent to other processes.
void zero_padding(const ShardSpec& spec, std::span<std::byte> arena);

/// Slots and updates of one shard; used by one thread at a time. Does not own the weights, since readers share them:
/// the caller keeps them (in a message, or in an arena that is updated in place).
class Shard {
 public:
  Shard(ShardSpec spec, BufferPool& pool);

  const ShardSpec& spec() const { return spec_; }
  const ShardCounters& counters() const { return counters_; }
  void set_counters(const ShardCounters& counters) { counters_ = counters; }

  /// Declares `weights` and the slots to be the values that the model begins with, from initializers or a restore. A
  /// segment with a value that is not finite at this point (a mask of -infinity, say) is exempt from poisoned() from
  /// then on.
  void begin(std::span<const std::byte> weights);
  /// The first segment in which an update since begin() has written a NaN or an infinity, to the variable or to a slot;
  /// null if there is none. Skips the segments that begin() exempted. Call it between updates.
  const Segment* poisoned() const;

  /// Fills `weights` (arena_bytes) and the slots with their initial values, and sets the counters to 0.
  Result<void> initialize(std::span<std::byte> weights, const ParallelFor& parallel_for = nullptr);
  /// Computes the next version of the weights into `next` (may be `current`), and updates the slots, from the mean of the
  /// contributors' gradients. The gradients are added up in order, each multiplied by its own scale. Learning rates are
  /// those of the first contributor. A slot that a snapshot still needs is copied before it changes. If lazy_rows is set
  /// for the variable, a row changes only if some contributor's gradient of the row is not all zero. The sum is always
  /// divided by the number of all contributors. If all contributors give rows, and the update is in place, the cost is
  /// proportional to the rows given. InvalidArgument if sizes do not fit the spec.
  Result<void> apply(std::span<const std::byte> current, std::span<std::byte> next,
                     std::span<const Contribution> contributions, const ParallelFor& parallel_for = nullptr);

  /// Like apply(), for one contributor whose gradients become known in parts. Call begin_update(), then update_part() once
  /// for each part of the segments without rows, then finish_update(). A part is the elements [first, first + count) of one
  /// segment: whole rows if the segment is updated by rows, the whole segment if its rule needs all elements at once.
  /// Several threads may update different parts at the same time. `scalars` as for apply().
  void begin_update();
  /// Called instead of finish_update() if no part was updated: the step makes no update.
  void withdraw_update();
  void update_part(const Segment& segment, int64_t first, int64_t count, std::span<const std::byte> current,
                   std::span<std::byte> next, const float* gradient, std::span<const double> scalars) const;
  /// Updates the segments for which `rows` has rows (as apply() does). If `next` is another buffer, also copies from
  /// `current` all elements that no update changes.
  void finish_update(std::span<const std::byte> current, std::span<std::byte> next, std::span<const double> scalars,
                     std::span<const SegmentRows* const> rows = {}) const;

  /// True if no snapshot refers to a slot, so that the next update need not copy one.
  bool slots_unheld() const;
  /// For each slot the memory (arena) with its values. A snapshot preserves the slots by keeping a reference to each arena.
  std::span<const Ref<Buffer>> slots() const { return slots_; }
  /// The bytes of a slot. A restore writes the values of a checkpoint to them.
  std::span<std::byte> mutable_slot(int slot);

 private:
  /// The weights and scalars that one update reads, and the weights that it writes.
  struct Place {
    std::span<const std::byte> current;
    std::span<std::byte> next;
    std::span<const double> scalars;
  };
  /// A range of elements of one segment, which one thread updates at a time: whole rows if the segment is updated by rows,
  /// the whole segment if its update rule needs all elements at once.
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
  /// One contributor's rows for one segment.
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
  /// Prefetches the memory of a row that will be updated soon.
  void ask_for_row(const Segment& segment, uint32_t row, int64_t width, const Place& place) const;
  void update_given_rows(size_t index, const Update& update) const;
  void finish(const Update& update) const;
  void note_poison(const Segment& segment) const;

  ShardSpec spec_;
  BufferPool& pool_;
  std::vector<Ref<Buffer>> slots_;
  ShardCounters counters_;
  std::vector<Piece> pieces_;
  std::vector<bool> exempt_;  // By segment: true if poisoned() skips it. All true before begin().
  // The index of the segment that poisoned() returns; the number of segments if it returns null. All threads of an update
  // may write it.
  std::unique_ptr<std::atomic<size_t>> poisoned_;
  // For each element of pieces_ and each contributor: a pointer to the gradient, and the gradient's scale. Every apply()
  // reuses this memory. So it allocates nothing, unless it merges the rows that several contributors give.
  std::vector<const float*> gradients_;
  std::vector<float> scales_;
};

}  // namespace shoal::cluster
