// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ends the calls of a task that gives way: a signal has asked the task to end and to be started again, while the job
/// continues.
#include "shoal/base/environment.h"
#include "shoal/estimator/run_config.h"

namespace shoal {

/// Whether a call failed with `why` because of a signal that asks its task to give way, that is, to end for a restart.
bool gives_way(Environment& env, const Error& why);
/// Reports to the task's process (TaskHost::report) that the task gives way. Returns an error, which the user's call is to
/// return: the job has not ended, so the program must not continue as if it had.
Error gave_way(const RunConfig& config);
/// Reports to the task's process (TaskHost::report) that a signal, or a stop request on the token RunConfigOptions::stop,
/// ended the task without a result.
void tell_interrupted(const RunConfig& config, const std::string& model_dir);

}  // namespace shoal
