// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Wraps a connection of tcp or shm as a connection of auto.
#include <memory>
#include <optional>

#include "shoal/transport/transport.h"

namespace shoal::transport::automatic {

/// `peer`: the peer's address in auto. `first`: a message received already. `slot`: from the listener's take_slot().
std::unique_ptr<Connection> make_connection(std::unique_ptr<Connection> inner, Endpoint peer,
                                            std::optional<Message> first = {}, std::shared_ptr<void> slot = nullptr);

}  // namespace shoal::transport::automatic
