// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ends calls whose task gives way: the job continues, and the task will be started again.
#include "shoal/base/environment.h"
#include "shoal/estimator/run_config.h"

namespace shoal {

/// Whether a call failed with `why` because of a signal that asks its task to give way, that is, to end for a restart.
bool gives_way(Environment& env, const Error& why);
/// Reports to the task's process (TaskHost::report) that the task gives way, and makes the error for the caller: the job
/// has not ended, so the program must not continue as if it had.
Error gave_way(const RunConfig& config);
/// Reports to the task's process (TaskHost::report) that a signal, or the config's stop, ended the task without a result.
void tell_interrupted(const RunConfig& config, const std::string& model_dir);

}  // namespace shoal
