// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Counts the steps that a job had to repeat because it lost its servers, for the summary at the end of a launch. Trainers
/// log that the global step goes back. The launcher reads the lines of all processes, even of those that are killed later.
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
  /// How often (`times`) a task's global step went back to a certain step, and how many steps the task lost by that in
  /// total (`steps`). tasks_ has a map for each task, whose keys are the steps that the task went back to.
  struct Fall {
    uint64_t steps = 0;
    uint64_t times = 0;
  };
  std::vector<std::map<uint64_t, Fall>> tasks_;
};

}  // namespace shoal::cli::launch
