#pragma once
#include "network.h"

namespace shoal::transport::sim {

/// End `index` of `wire`, whose strand this is, over a connection of the process.
std::unique_ptr<Connection> make_connection(Environment& env, std::shared_ptr<SimNetwork> network,
                                            std::shared_ptr<Wire> wire, int index, Endpoint peer,
                                            std::unique_ptr<Connection> inner);

}  // namespace shoal::transport::sim
