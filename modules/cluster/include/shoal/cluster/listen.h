// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Opening a task's own port, and taking who comes.
#include <functional>
#include <memory>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/transport/transport.h"

namespace shoal::cluster {

/// Listens at `at`. While its host name does not resolve, which is common where names are given out as tasks start, tries
/// again each second until `deadline`. Errors: those of Transport::listen(), NotFound for the name included; Cancelled on
/// an interrupt.
Task<Result<std::unique_ptr<transport::Listener>>> listen(Environment& env, transport::Endpoint at,
                                                          transport::LinkOptions options, Deadline deadline);

/// Gives each connection to `serve`, until the listener is closed. What cannot be accepted is said once, with `whose` before
/// it ("rendezvous: "), and tried again after a pause. `listener` outlives it.
Task<Result<void>> accept_each(Environment& env, transport::Listener& listener, std::string whose,
                               std::function<void(std::unique_ptr<transport::Connection>)> serve);

}  // namespace shoal::cluster
