// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The program that every task of a simulated job runs: a real model, real input, one call of train_and_evaluate().
#include "plan.h"
#include "shoal/estimator/hook.h"
#include "shoal/testing/world.h"

namespace shoal::simulation {

inline const std::string kModelDir = "/shared/model";

/// What a job's program is told besides its configuration, and tells besides what it writes.
struct JobNotes {
  int64_t more_steps = 0;               ///< How far beyond max_steps the tasks go that start from now on.
  std::vector<std::string> saved;       ///< Prefixes of checkpoints, as an after-save listener hears of them.
  std::vector<std::string> violations;  ///< What a hook of the user saw that may not be.
  std::vector<std::string> violations_while_all_take_part;  ///< The same, of what may be once a lost trainer was replaced.
  bool hook_stopped = false;   ///< True once a hook asked to stop its trainer or, if the chief's, the job.
  bool stopped_early = false;  ///< True once an evaluation made the chief stop the job.
  bool hook_threw = false;
  std::vector<std::string> words;  ///< What the first task learned of the data; the data have one word more at each look.
  int64_t looks = 0;
  bool poisoned = false;  ///< True once the batch of JobPlan::poison was computed.
  bool cured = false;     ///< True once no batch is replaced any more.
  int64_t saves_begun = 0;
  std::optional<double> last_evaluated;  ///< The global step of the last evaluation (evaluator or local process).
};

/// How many variables the model has beside those that learn; each update adds one to them.
inline constexpr int kCountVariables = 3;
std::string count_variable(int index);
/// A batch of features, in place of any other, that has the effect of JobPlan::poison.
Tensor poison_of(const JobPlan& job);

testing::Program make_program(const JobPlan& job, std::shared_ptr<JobNotes> notes);
RunConfigOptions config_of(const JobPlan& job, uint64_t seed);

}  // namespace shoal::simulation
