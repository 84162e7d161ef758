// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The port that a task will listen on, held until it does.
#include <memory>
#include <string>

#include "job/rendezvous/messages.h"

namespace shoal::cluster {

struct OwnPort {
  std::unique_ptr<transport::Listener> listener;  ///< Nobody is served there; it keeps the port from others.
  std::string address;                            ///< What others are told; empty for a task that needs none.
};

/// Where the task of this place answers if it is rank 0: `address`, or that port on the host of --bind. InvalidArgument for
/// a --bind that is neither host nor host:port.
Result<std::string> bound_address(const RendezvousOptions& options, const std::string& address);

/// Takes the offered address, or a free port of the offered host. Unavailable if it is taken, or no free port is found.
Task<Result<OwnPort>> take_port(Environment& env, const RendezvousOptions& options, SeatOffer offer, Deadline deadline);

/// "host" of "host:port".
std::string host_part(const std::string& address);

}  // namespace shoal::cluster
