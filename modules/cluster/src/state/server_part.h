// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One part of what a parameter server holds: its weights, as the message that travels, and its slots. An update may take
/// long, and is made beside the strand: what is called on which thread is said below. While a function of the second kind
/// runs, only at_hand() may be called.
#include <map>
#include <optional>
#include <vector>

#include "shoal/cluster/shard.h"
#include "shoal/cluster/snapshot.h"
#include "shoal/transport/message.h"
#include "state/held_push.h"
#include "state/row_history.h"

namespace shoal::cluster {

class ServerPart {
 public:
  ServerPart(ShardPart part, BufferPool& pool);
  ServerPart(ServerPart&&) = default;  // A copy would point into the original.

  /// Begins with the starting values. Called once, first, on any thread.
  Result<void> start(const ParallelFor& parallel_for = nullptr);
  /// An arena to be filled by restores, until activate().
  std::span<std::byte> mutable_arena(ArenaIndex arena);
  void activate(uint64_t update_count);
  /// Called on any thread, before activate(): looks at the values that the epoch begins with (Shard::begin()).
  void look_at_start() { shard_.begin(weights_.payload()); }
  /// Shard::poisoned().
  const Segment* poisoned() const { return shard_.poisoned(); }
  /// What replies say about the newest version.
  void set_global_step(uint64_t step) { transport::set_weights_version(weights_, counters().version, step); }

  /// Called on any thread: what `chunk`, of a push, is for this part; it points into the chunk's message.
  /// InvalidArgument if it does not fit.
  Result<PartGradient> decode(const transport::Chunk& chunk) const;
  /// Called on the strand: decides where the next version is written. In place, if nobody holds the newest: then it is
  /// not at hand until close().
  void open();
  /// About how many bytes apply() touches of each arena.
  uint64_t bytes_of_update(std::span<const HeldPush* const> pushes, size_t part) const;
  /// Called on any thread. Makes one update of all these pushes, in their order, of which this is part `part`.
  void apply(std::span<const HeldPush* const> pushes, size_t part, const ParallelFor& parallel_for);
  /// Called on the strand: the next version is the newest.
  void close(uint64_t global_step);

  /// The newest version; its body is null while it is being overwritten.
  const transport::Message& weights() const { return weights_; }
  /// Called on the strand. As ServerState::weights_at_hand(), of this part; the body is null if it is not at hand.
  transport::Message at_hand(transport::Encoding encoding, uint64_t has) const;
  /// About how many bytes make() touches.
  uint64_t bytes_of(transport::Encoding encoding, uint64_t has) const;
  /// Called on any thread. As ServerState::make_weights(), of this part.
  transport::Message make(transport::Encoding encoding, uint64_t has, uint64_t global_step);
  /// Called on the strand: what make() made is at hand, until the next version is.
  void keep(transport::Encoding encoding, transport::Message made);

  uint64_t begin() const { return begin_; }
  const ShardSpec& spec() const { return shard_.spec(); }
  const ShardCounters& counters() const { return shard_.counters(); }
  std::span<const Ref<Buffer>> slots() const { return shard_.slots(); }

 private:
  void expect_rows();
  void remember_rows(std::span<const HeldPush* const> pushes, size_t part);
  transport::Message rows_since(uint64_t version, uint64_t global_step);

  const uint64_t begin_;
  BufferPool& pool_;
  Shard shard_;
  transport::Message weights_;
  transport::Message next_;  // The version that is made, from open() to close().
  // Forms of the newest version; a null body is not made yet.
  std::map<transport::Encoding, transport::Message> encoded_;
  std::vector<Contribution> contributions_;  // Those of the update at hand.
  std::vector<SegmentRows> segment_rows_;    // Rows of the update or the reply at hand, by segment.
  RowHistory history_;
};

}  // namespace shoal::cluster
