// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How many steps of a job were lost with servers, and made again: what a launch says at its end. Trainers tell of each fall
/// of the global step in a line of their log (CONTRACT GS-3), and the launcher sees those of all processes, also of those
/// that were killed later.
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
  /// A line that a task wrote.
  void heed(size_t task, std::string_view line);
  /// Empty if none were lost.
  std::string line() const;

 private:
  /// By the step to which it fell.
  struct Fall {
    uint64_t steps = 0;
    uint64_t times = 0;
  };
  std::vector<std::map<uint64_t, Fall>> tasks_;
};

}  // namespace shoal::cli::launch
