// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reserves addresses on the loopback, so that other processes do not take them.
#include <cstdint>
#include <set>
#include <string_view>

#include "launch/descriptor.h"

namespace shoal::cli::launch {

/// A free port of 127.0.0.1, reserved for a task while this object lives: this object binds a socket to the port, and does
/// not listen. Linux still lets the task listen there, because both sockets have SO_REUSEADDR (as every acceptor of
/// transport/tcp). Linux gives the port to no outgoing connection, and to no process that asks for any port, even while the
/// task is dead. Only a process that binds to this very port with SO_REUSEADDR can take it.
class ReservedPort {
 public:
  static Result<ReservedPort> on_loopback();
  uint16_t number() const { return number_; }

 private:
  ReservedPort(Descriptor socket, uint16_t number) : socket_(std::move(socket)), number_(number) {}
  Descriptor socket_;
  uint16_t number_;
};

/// FailedPrecondition if 127.0.0.1 cannot be reached: the tasks could not connect to each other.
Result<void> check_loopback();

/// The ports at which processes of this machine listen for connections to 127.0.0.1. `ipv4` and `ipv6` are the texts of
/// /proc/net/tcp and /proc/net/tcp6.
std::set<uint16_t> listening_ports(std::string_view ipv4, std::string_view ipv6);
/// The same as the function above, for the present contents of /proc/net/tcp and /proc/net/tcp6.
std::set<uint16_t> listening_ports();

}  // namespace shoal::cli::launch
