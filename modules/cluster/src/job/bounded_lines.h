// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Limits the rate and the length of log lines that peers cause, with words that peers choose.
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
  SteadyTime logged_until_{};  // Each logged line adds one second. While this is 20 s ahead of now, lines are left out.
  int64_t unlogged_ = 0;
};

}  // namespace shoal::cluster
