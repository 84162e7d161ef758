// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A connection of another transport, under the name that this one was asked for.
#include <memory>
#include <optional>

#include "shoal/transport/transport.h"

namespace shoal::transport::automatic {

/// `peer`: as this transport calls it. `first`: a message that was read already. `slot`: held as long as the connection.
std::unique_ptr<Connection> make_connection(std::unique_ptr<Connection> inner, Endpoint peer,
                                            std::optional<Message> first = {}, std::shared_ptr<void> slot = nullptr);

}  // namespace shoal::transport::automatic
