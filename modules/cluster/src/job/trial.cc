// SPDX-License-Identifier: Apache-2.0
// Reads the trial of a search from SHOAL_TRIAL, for launchers that start one process for each trial, without TF_CONFIG.
#include "job/quote.h"
#include "job/resolvers/variables.h"
#include "shoal/base/utf8.h"
#include "shoal/cluster/tf_config.h"

namespace shoal::cluster {

namespace {
constexpr std::string_view kTrialVariable = "SHOAL_TRIAL";
}  // namespace

Result<std::optional<std::string>> trial_from_environment(const GetEnv& getenv) {
  std::optional<std::string> trial = variable(getenv, kTrialVariable);
  if (trial) SHOAL_TRY_VOID(check_utf8(*trial, kTrialVariable, "give the trial a number, or a name of ASCII characters"));
  return trial;
}

Result<TaskConfig> with_trial(TaskConfig task, const GetEnv& getenv) {
  SHOAL_TRY(std::optional<std::string> trial, trial_from_environment(getenv));
  if (!trial) return task;
  if (task.trial && *task.trial != *trial) {
    return invalid_argument(std::string(kTrialVariable) + ": is " + in_quotes(*trial) +
                            ", and task.trial of TF_CONFIG is " + in_quotes(*task.trial) +
                            "; a process is part of one trial, so set only one, or both to the same");
  }
  task.trial = std::move(trial);
  return task;
}

}  // namespace shoal::cluster
