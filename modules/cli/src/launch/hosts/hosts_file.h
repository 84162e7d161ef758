// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the list of a job's machines, in the manner of MPI: one machine per line, `[user@]host[:port] [slots=N]
/// [address=NAME]`.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"

namespace shoal::cli::launch {

struct Host {
  std::string name;       ///< The name that ssh connects to: a host name, an alias of ssh's configuration, or an address.
  std::string user{};     ///< The user's name on the host; empty: the name in ssh's configuration.
  uint16_t ssh_port = 0;  ///< The port of ssh on the host; 0: the port in ssh's configuration.
  int32_t slots = 1;      ///< How many trainers may run on the host; at least 1.
  std::string address{};  ///< The name or address by which the other hosts reach this one. IPv6 in brackets.

  /// The destination for ssh: "user@name".
  std::string destination() const { return user.empty() ? name : user + "@" + name; }
  friend bool operator==(const Host&, const Host&) = default;
};

/// Returns the hosts in the order of their lines. Empty lines and text behind a # are skipped. `file` is the name in
/// errors, each of which names its line. InvalidArgument: no host, a line of another form, a host that is listed twice.
Result<std::vector<Host>> parse_hosts(std::string_view text, const std::string& file);

}  // namespace shoal::cli::launch
