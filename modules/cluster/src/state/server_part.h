// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One part of a parameter server's shard: the weights, stored as the message that trainers receive, and the optimizer's
/// slots. Long work (an update, an encoding) runs outside of the strand; each function says on which thread it is called.
/// While a function runs that is called "on any thread", the strand may call no function but at_hand().
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
  ServerPart(ServerPart&&) = default;  // Moves only: a copy would point into the original.

  /// Fills weights and slots with their initial values. Called once, before all other functions, on any thread.
  Result<void> start(const ParallelFor& parallel_for = nullptr);
  /// The memory of the weights or of a slot, into which a restore copies saved values. Only called before activate().
  std::span<std::byte> mutable_arena(ArenaIndex arena);
  void activate(uint64_t update_count);
  /// Called on any thread, before activate(): checks the initial or restored values (Shard::begin()).
  void look_at_start() { shard_.begin(weights_.payload()); }
  /// The first segment in which an update has written a NaN or an infinity; null if there is none (Shard::poisoned()).
  const Segment* poisoned() const { return shard_.poisoned(); }
  /// Sets the version and the global step that go out with the newest weights.
  void set_global_step(uint64_t step) { transport::set_weights_version(weights_, counters().version, step); }

  /// Called on any thread: decodes `chunk` of a push for this part. The result points into the chunk's message.
  /// InvalidArgument if the chunk does not fit.
  Result<PartGradient> decode(const transport::Chunk& chunk) const;
  /// Called on the strand before open(): takes new memory for the next version of the weights, if a message or a
  /// checkpoint uses that of the newest version. If there is none, raises the error of exhaustion (raise_exhausted()), and
  /// nothing has changed.
  void reserve();
  /// Called on the strand after reserve() and before apply(): from now on the next version is made. If reserve() has taken
  /// no memory, apply() overwrites the newest version. In this case at_hand() returns a message without weights until
  /// close().
  void open();
  /// The approximate number of bytes that apply() reads or writes in the memory of the weights, and in that of each slot.
  uint64_t bytes_of_update(std::span<const HeldPush* const> pushes, size_t part) const;
  /// Called on any thread: makes one update from all these pushes, in their order. Shards and pushes are divided into the
  /// same parts. This object is part number `part` of its shard, so it uses part number `part` of each push.
  void apply(std::span<const HeldPush* const> pushes, size_t part, const ParallelFor& parallel_for);
  /// Called on the strand: makes the next version the newest one.
  void close(uint64_t global_step);

  /// The newest version of the weights. Message::body is null while an update overwrites this version.
  const transport::Message& weights() const { return weights_; }
  /// Called on the strand: returns the message with this part of the newest weights (see ServerState::weights_at_hand()).
  /// If that message has not been made yet, the result has no weights (Message::body is null).
  transport::Message at_hand(transport::Encoding encoding, uint64_t has) const;
  /// The approximate number of bytes of weights that make() reads.
  uint64_t bytes_of(transport::Encoding encoding, uint64_t has) const;
  /// Called on any thread: makes the message with this part of the newest weights (see ServerState::make_weights()).
  transport::Message make(transport::Encoding encoding, uint64_t has, uint64_t global_step);
  /// Called on the strand: stores the result of make() for at_hand(), until the next version.
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
  // The version of the weights that is being made, from open() to close(). From reserve() to open(): its memory, if any.
  transport::Message next_;
  // Encoded forms of the newest version. An entry whose Message::body is null has not been made yet.
  std::map<transport::Encoding, transport::Message> encoded_;
  std::vector<Contribution> contributions_;  // What each push adds to the update that is being made.
  std::vector<SegmentRows> segment_rows_;    // For each segment, the rows that the present update or reply contains.
  RowHistory history_;
};

}  // namespace shoal::cluster
