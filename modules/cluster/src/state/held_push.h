// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A whole push of a trainer that a server holds: it counts when it is committed, and not before.
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/transport/message.h"
#include "state/push_credits.h"
#include "state/row_codec.h"

namespace shoal::cluster {

/// What of a push is for one part of a shard.
struct PartGradient {
  std::span<const std::byte> arena;  ///< The gradients, with the rows of `rows` in place of those segments.
  Ref<Buffer> decoded;               ///< Memory that `arena` lies in; null if it lies in the message.
  /// Rows by segment, pointing into the message; empty if the push did not come by rows.
  std::vector<SegmentRows> rows;
  std::vector<const SegmentRows*> lazy_rows;  ///< The same for Contribution::rows.
};

/// Owns its messages: nothing is copied that came dense.
struct HeldPush {
  transport::PushId id;
  std::vector<transport::Message> messages;
  std::vector<transport::Chunk> chunks;  ///< Views of the messages, one for each part.
  std::vector<PartGradient> parts;
  bool answered = false;  ///< True if its trainer may push another one meanwhile.
  PushCredit credit;      ///< The bytes that it takes until it is answered.
  bool save_follows = false;  ///< True if it is the chief's, who saves once it counts.

  /// The closing chunk, which says what is not of a part.
  const transport::Chunk& closing() const { return chunks.front(); }
  uint64_t ordinal() const { return closing().ordinal; }
  uint64_t base_version() const { return closing().base_version; }
  std::span<const double> scalars() const { return closing().scalars; }
  const transport::StepMetrics& metrics() const { return closing().metrics; }
  std::string_view position() const { return closing().position; }
  transport::Encoding encoding() const { return closing().encoding; }
};

}  // namespace shoal::cluster
