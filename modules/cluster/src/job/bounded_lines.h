// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Limits log lines that peers can cause at any rate, with any words.
#include <cstdint>
#include <string>

#include "shoal/base/environment.h"

namespace shoal::cluster {

/// Log lines of one kind, bounded: at most 20 at once, then one a second, with the number of those left out; control
/// characters become blanks, so that a peer cannot forge a line. Belongs to the strand.
class BoundedLines {
 public:
  explicit BoundedLines(Environment& env) : env_(env) {}
  void log(LogLevel level, const std::string& sentence);

 private:
  Environment& env_;
  SteadyTime logged_until_{};  // Each line moves this time forward by a second.
  int64_t unlogged_ = 0;
};

}  // namespace shoal::cluster
