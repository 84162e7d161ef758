// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs one plan in a world of its own, and says what about it may not be.
#include <functional>
#include <map>
#include <optional>

#include "canary.h"
#include "plan.h"

namespace shoal::simulation {

struct Verdict {
  std::vector<std::string> violations;  ///< What happened that may not; empty if all is well.
  uint64_t trace = 0;
  uint64_t steps = 0;  ///< The global steps that the job made, including those that were rolled back.
  Duration virtual_time{};
  int64_t memory_beyond = INT64_MIN;       ///< The most bytes of buffers that a server had in use beyond its formula.
  std::map<std::string, uint64_t> faults;  ///< How many faults of each kind came.
  std::map<std::string, uint64_t> marks;   ///< How often each rare path was taken.
  std::string report;                      ///< Each task and its last lines, if there are violations.
};

struct RunOptions {
  std::function<void(const std::string& line)> log = nullptr;  ///< The sink of every log line.
  std::optional<Canary> canary = {};                           ///< The defect that is planted in the run.
};

Verdict run_plan(const Plan& plan, const RunOptions& options = {});

}  // namespace shoal::simulation
