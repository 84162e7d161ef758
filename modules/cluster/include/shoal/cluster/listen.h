#pragma once
/// Opening a task's own port.
#include <memory>

#include "shoal/base/environment.h"
#include "shoal/transport/transport.h"

namespace shoal::cluster {

/// Listens at `at`. While its host name does not resolve, which is common where names are given out as tasks start, tries
/// again each second until `deadline`. Errors: those of Transport::listen(), NotFound for the name included; Cancelled on
/// an interrupt.
Task<Result<std::unique_ptr<transport::Listener>>> listen(Environment& env, transport::Endpoint at,
                                                          transport::LinkOptions options, Deadline deadline);

}  // namespace shoal::cluster
