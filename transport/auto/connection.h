// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A connection of tcp or shm that appears as one of auto.
#include <memory>
#include <optional>

#include "shoal/transport/transport.h"

namespace shoal::transport::automatic {

/// `peer`: the peer's address in auto. `first`: a message that was received already. `slot`: the listener's reservation.
std::unique_ptr<Connection> make_connection(std::unique_ptr<Connection> inner, Endpoint peer,
                                            std::optional<Message> first = {}, std::shared_ptr<void> slot = nullptr);

}  // namespace shoal::transport::automatic
