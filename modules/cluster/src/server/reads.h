#pragma once
/// Parts of arenas that a parameter server is asked for.
#include <string_view>

#include "state/server_state.h"

namespace shoal::cluster {

/// The ReadRange `text` of the state held; null: none is. InvalidArgument for what it does not have.
Result<transport::Message> read_held(BufferPool& pool, const ServerState& state, const HeldState* held,
                                     std::string_view text);
/// Of what the compression of `trainer` has kept back. NotFound if the server does not have it.
Result<transport::Message> read_residual(BufferPool& pool, const ServerState& state, int trainer, std::string_view text);

}  // namespace shoal::cluster
