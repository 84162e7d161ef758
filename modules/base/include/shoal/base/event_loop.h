// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Gives access to the Asio context that runs the strand of a production environment. Only transport/tcp, transport/shm and
/// the HTTP endpoint may use it.
#include "shoal/base/time.h"

namespace boost::asio {
class io_context;
}

namespace shoal {

class Environment;

/// Returns the context whose handlers run on the strand, while Environment::run() runs. Null if `environment` is virtual or
/// this build has no Asio. The context lives as long as the environment and needs no work guard, since the loop counts its
/// own work.
boost::asio::io_context* event_loop(Environment& environment);

/// ProductionOptions::spin with its default filled in; 0 for a virtual environment.
Duration event_loop_spin(Environment& environment);

}  // namespace shoal
