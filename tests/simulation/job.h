#pragma once
/// The program that every task of a simulated job runs: a real model, real input, one call of train_and_evaluate().
#include "plan.h"
#include "shoal/estimator/hook.h"
#include "shoal/testing/world.h"

namespace shoal::simulation {

/// What a job's program is told besides its configuration, and tells besides what it writes.
struct JobNotes {
  int64_t more_steps = 0;               ///< told to it: beyond max_steps, of those that start from now on
  std::vector<std::string> saved;       ///< prefixes, as an after-save listener hears of them
  std::vector<std::string> violations;  ///< what a hook of the user saw that may not be
  bool hook_stopped = false;            ///< it asked for a stop, of its trainer or, the chief's, of the job
  bool hook_threw = false;
  std::optional<double> last_evaluated; ///< global step of the evaluator's (or local process's) last evaluation
};

/// Its model has so many variables beside those that learn, which each update adds one to.
inline constexpr int kCountVariables = 3;
std::string count_variable(int index);

testing::Program make_program(const JobPlan& job, std::shared_ptr<JobNotes> notes);
RunConfigOptions config_of(const JobPlan& job, uint64_t seed);

}  // namespace shoal::simulation
