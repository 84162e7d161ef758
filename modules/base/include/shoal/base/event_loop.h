// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The Asio context that the strand of a production environment runs, for transport/tcp, transport/shm and the HTTP
/// endpoint only.
#include "shoal/base/time.h"

namespace boost::asio {
class io_context;
}

namespace shoal {

class Environment;

/// Handlers of this context run on the strand, while run() is under way. Null if `environment` is virtual, or if this
/// build has no Asio. Lives as long as the environment; it counts its own work, so it never needs a work guard.
boost::asio::io_context* event_loop(Environment& environment);

/// ProductionOptions::spin, as it applies; of a virtual environment 0.
Duration event_loop_spin(Environment& environment);

}  // namespace shoal
