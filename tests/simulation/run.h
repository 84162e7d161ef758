#pragma once
/// Runs one plan in a world of its own, and says what about it may not be.
#include <functional>
#include <map>
#include <optional>

#include "canary.h"
#include "plan.h"

namespace shoal::simulation {

struct Verdict {
  std::vector<std::string> violations;  ///< empty: nothing
  uint64_t trace = 0;
  uint64_t steps = 0;  ///< global steps that the job made, those that were rolled back too
  Duration virtual_time{};
  int64_t memory_beyond = INT64_MIN;       ///< the most bytes of buffers that a server had in use beyond its formula
  std::map<std::string, uint64_t> faults;  ///< by kind, as far as they came
  std::map<std::string, uint64_t> marks;   ///< rare paths that were taken
  std::string report;                      ///< of a run with violations: each task, and its last lines
};

struct RunOptions {
  std::function<void(const std::string& line)> log = nullptr;  ///< gets every log line
  std::optional<Canary> canary = {};                           ///< with this defect in it
};

Verdict run_plan(const Plan& plan, const RunOptions& options = {});

}  // namespace shoal::simulation
