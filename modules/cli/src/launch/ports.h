// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Addresses on the loopback that nobody else takes.
#include <cstdint>
#include <set>
#include <string_view>

#include "launch/descriptor.h"

namespace shoal::cli::launch {

/// A free port of 127.0.0.1, kept from others for as long as this lives: a socket is bound to it that does not listen.
/// Linux lets a task listen there all the same, since both sockets have SO_REUSEADDR (as every acceptor of transport/tcp);
/// it gives the port to no connection that goes out and to nobody who asks for any port, also while the task is dead. Who
/// binds to just this port, and has SO_REUSEADDR, still can.
class ReservedPort {
 public:
  static Result<ReservedPort> on_loopback();
  uint16_t number() const { return number_; }

 private:
  ReservedPort(Descriptor socket, uint16_t number) : socket_(std::move(socket)), number_(number) {}
  Descriptor socket_;
  uint16_t number_;
};

/// FailedPrecondition where 127.0.0.1 cannot be reached: no task would ever meet another.
Result<void> check_loopback();

/// The ports at which processes of this machine listen for connections to 127.0.0.1, as far as the kernel tells. `ipv4` and
/// `ipv6` are texts of /proc/net/tcp and /proc/net/tcp6.
std::set<uint16_t> listening_ports(std::string_view ipv4, std::string_view ipv6);
/// The same, now.
std::set<uint16_t> listening_ports();

}  // namespace shoal::cli::launch
