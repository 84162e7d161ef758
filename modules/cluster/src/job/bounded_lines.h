// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Log lines that peers cause as often as they like, and whose words they may have chosen.
#include <cstdint>
#include <string>

#include "shoal/base/environment.h"

namespace shoal::cluster {

/// Lines of one kind. They neither fill the log (20 at once, then one a second, with the number of those between) nor add
/// lines of their own to it (control characters become blanks). Of the strand.
class BoundedLines {
 public:
  explicit BoundedLines(Environment& env) : env_(env) {}
  void log(LogLevel level, const std::string& sentence);

 private:
  Environment& env_;
  SteadyTime logged_until_{};  // Each line moves it on.
  int64_t unlogged_ = 0;
};

}  // namespace shoal::cluster
