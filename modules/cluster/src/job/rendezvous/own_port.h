// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reserves the port that a task will listen on, until the task itself listens there.
#include <memory>
#include <string>

#include "job/rendezvous/messages.h"

namespace shoal::cluster {

struct OwnPort {
  std::unique_ptr<transport::Listener> listener;  ///< Occupies the port until the task listens there.
  std::string address;                            ///< Where other tasks reach this one; empty for an evaluator.
};

/// Returns the address at which rank 0 listens if the other ranks connect to `address`: without --bind the same address,
/// with --bind the host that --bind names and the port of `address`. InvalidArgument for a --bind that is neither host nor
/// host:port.
Result<std::string> bound_address(const RendezvousOptions& options, const std::string& address);

/// Takes the offered address, or a free port of the offered host. Unavailable if the address is taken, or no port is free.
Task<Result<OwnPort>> take_port(Environment& env, const RendezvousOptions& options, SeatOffer offer, Deadline deadline);

/// "host" of "host:port".
std::string host_part(const std::string& address);

}  // namespace shoal::cluster
