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
  /// Reads a line that task number `task` wrote. Counts the lost steps if the line reports some.
  void heed(size_t task, std::string_view line);
  /// The summary; empty if no steps were lost.
  std::string line() const;

 private:
  /// How often (`times`) a task's global step went back to one certain step, and how many steps the task lost then, all
  /// times together (`steps`). tasks_ has a map for each task; its keys are the steps to which the task went back.
  struct Fall {
    uint64_t steps = 0;
    uint64_t times = 0;
  };
  std::vector<std::map<uint64_t, Fall>> tasks_;
};

}  // namespace shoal::cli::launch
