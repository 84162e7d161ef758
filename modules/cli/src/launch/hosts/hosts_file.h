// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The machines of a job, as people list them for MPI: one a line, `[user@]host[:port] [slots=N] [address=NAME]`.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"

namespace shoal::cli::launch {

struct Host {
  std::string name;       ///< What ssh is to connect to: a name, an alias of ssh's configuration, or an address.
  std::string user{};     ///< Empty: as ssh's configuration says.
  uint16_t ssh_port = 0;  ///< 0: as ssh's configuration says.
  int32_t slots = 1;      ///< How many of its tasks may train; at least 1.
  std::string address{};  ///< The name or address by which the other hosts reach it. IPv6 in brackets.

  /// What ssh takes: "user@name".
  std::string destination() const { return user.empty() ? name : user + "@" + name; }
  friend bool operator==(const Host&, const Host&) = default;
};

/// The hosts in the order of their lines; empty lines, and what follows a #, are nothing. `file` is for errors, each of
/// which names its line. InvalidArgument: no host, a line that is none, a host that is listed twice.
Result<std::vector<Host>> parse_hosts(std::string_view text, const std::string& file);

}  // namespace shoal::cli::launch
