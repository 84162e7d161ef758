// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Counts the steps that a job lost with its servers and made again, for the summary at the end of a launch. A trainer logs
/// each fall of the global step, and the launcher sees the lines of all processes, also of those that are killed later.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::cli::launch {

class LostSteps {
 public:
  explicit LostSteps(size_t tasks) : tasks_(tasks) {}
  /// Reads a line that a task wrote.
  void heed(size_t task, std::string_view line);
  /// The summary; empty if no steps were lost.
  std::string line() const;

 private:
  /// All falls of the global step to one step, the key of the map: the steps that they lost, and their number.
  struct Fall {
    uint64_t steps = 0;
    uint64_t times = 0;
  };
  std::vector<std::map<uint64_t, Fall>> tasks_;
};

}  // namespace shoal::cli::launch
