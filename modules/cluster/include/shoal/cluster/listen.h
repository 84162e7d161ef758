// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Opens a task's own port, and accepts connections there.
#include <functional>
#include <memory>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/transport/transport.h"

namespace shoal::cluster {

/// Listens at `at`. If the host name does not resolve yet, as is common on clusters that add names while tasks start,
/// tries again each second until `deadline`. Errors: those of Transport::listen(), among them NotFound for a name that
/// does not resolve; Cancelled on an interrupt.
Task<Result<std::unique_ptr<transport::Listener>>> listen(Environment& env, transport::Endpoint at,
                                                          transport::LinkOptions options, Deadline deadline);

/// Gives each accepted connection to `serve`, until the listener is closed. A connection that cannot be accepted is
/// logged once, with `whose` in front ("rendezvous: "), and accepting goes on after 100 ms. `listener` outlives the
/// returned task.
Task<Result<void>> accept_each(Environment& env, transport::Listener& listener, std::string whose,
                               std::function<void(std::unique_ptr<transport::Connection>)> serve);

}  // namespace shoal::cluster
