// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Parts of arenas that a parameter server is asked for.
#include <string>
#include <string_view>

#include "state/server_state.h"

namespace shoal::cluster {

/// What of an arena is asked for, and holds it.
struct ArenaRead {
  ReadRange range;
  PartedArena arena;
  uint64_t version = 0;

  /// Copies it into a message. Called on any thread.
  transport::Message to_message(BufferPool& pool) const;
};

/// Reads the ReadRange `text` of the state held; null if none is. InvalidArgument for what it does not have.
Result<ArenaRead> read_held(const ServerState& state, const HeldState* held, std::string_view text);
/// Reads from what the compression of `trainer` has kept back. NotFound if the server does not have it.
Result<ArenaRead> read_residual(const ServerState& state, int trainer, std::string_view text);

}  // namespace shoal::cluster
