// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Limits the rate and the length of log lines that a peer causes and whose words the peer chooses.
#include <cstdint>
#include <string>

#include "shoal/base/environment.h"

namespace shoal::cluster {

/// Log lines of one kind, limited: at most 20 at once, then one a second; the next line says how many were left out.
/// Control characters become blanks, so that a peer cannot forge a line. Used on the strand only.
class BoundedLines {
 public:
  explicit BoundedLines(Environment& env) : env_(env) {}
  void log(LogLevel level, const std::string& sentence);

 private:
  Environment& env_;
  SteadyTime logged_until_{};  // Each logged line adds 1 s to this time. While it is 20 s ahead of now, no line is logged.
  int64_t unlogged_ = 0;
};

}  // namespace shoal::cluster
