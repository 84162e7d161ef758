// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A push that has arrived whole at a server, and waits for the order that commits or drops it.
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/transport/message.h"
#include "state/push_credits.h"
#include "state/row_codec.h"

namespace shoal::cluster {

/// The gradient that a push has for one part of a shard.
struct PartGradient {
  std::span<const std::byte> arena;  ///< The gradients in the arena's layout, without the segments in `rows`.
  Ref<Buffer> decoded;               ///< The memory of `arena`; null if `arena` points into the message.
  /// By segment: the rows whose gradients were sent; empty if the push was not sent as rows.
  std::vector<SegmentRows> rows;
  std::vector<const SegmentRows*> lazy_rows;  ///< Pointers into `rows`, as Contribution::rows needs them.
};

/// A whole push. Owns its messages, so that the gradients of a dense push are not copied.
struct HeldPush {
  transport::PushId id;
  std::vector<transport::Message> messages;
  std::vector<transport::Chunk> chunks;  ///< One for each part of the shard; they refer to `messages`.
  std::vector<PartGradient> parts;
  bool answered = false;      ///< True if the trainer was answered, and may already make another push.
  PushCredit credit;          ///< How much of its trainer's memory limit the push uses until it is answered.
  bool save_follows = false;  ///< True if the chief made this push, and takes a checkpoint after the push is applied.

  /// The closing chunk: it also carries what belongs to the push as a whole (scalars, metrics, position).
  const transport::Chunk& closing() const { return chunks.front(); }
  uint64_t ordinal() const { return closing().ordinal; }
  uint64_t base_version() const { return closing().base_version; }
  std::span<const double> scalars() const { return closing().scalars; }
  const transport::StepMetrics& metrics() const { return closing().metrics; }
  std::string_view position() const { return closing().position; }
  transport::Encoding encoding() const { return closing().encoding; }
};

}  // namespace shoal::cluster
