// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads ranges of a shard's arenas (its weights, slots and residuals) for the chief, or for a trainer.
#include <string>
#include <string_view>

#include "state/server_state.h"

namespace shoal::cluster {

/// A range of an arena, with references that keep the arena alive.
struct ArenaRead {
  ReadRange range;
  PartedArena arena;
  uint64_t version = 0;

  /// Copies the range into a message. Called on any thread.
  transport::Message to_message(BufferPool& pool) const;
};

/// Reads a range of the snapshot `held`. `text` is a ReadRange as JSON. Unavailable if `held` is null, because there is no
/// snapshot. InvalidArgument for an arena or range that the snapshot does not have.
Result<ArenaRead> read_held(const ServerState& state, const HeldState* held, std::string_view text);
/// Reads from the residual of `trainer`. NotFound if the server does not have it.
Result<ArenaRead> read_residual(const ServerState& state, int trainer, std::string_view text);

}  // namespace shoal::cluster
