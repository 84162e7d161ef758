// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "network.h"

namespace shoal::transport::sim {

/// Makes the Connection for end `index` of `wire`. Call it on the strand of that end.
std::unique_ptr<Connection> make_connection(Environment& env, std::shared_ptr<SimNetwork> network,
                                            std::shared_ptr<Wire> wire, int index);

}  // namespace shoal::transport::sim
