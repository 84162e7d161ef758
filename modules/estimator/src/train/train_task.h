// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Training in one task: local process, chief, master or worker. The weights lie on the job's servers or, if it has none,
/// in this process. Workers save no checkpoints.
#include "shoal/base/environment.h"
#include "train/train_request.h"

namespace shoal {

/// Runs the training. `request` outlives the task.
Task<Result<TrainOutcome>> train_task(Environment& env, const TrainRequest& request);

/// Checks a config before train_and_evaluate() or Estimator::train() opens or writes anything. FailedPrecondition if Shoal
/// cannot run the role of the task, or if a task of a cluster has to compute for several trainers (RunConfig::replicas()).
/// Also checks the task's own address, and who may join the job.
Result<void> check_task(const RunConfig& config);
/// Checks that need the environment of the task. FailedPrecondition if this process has to connect to other processes, but
/// its transport (one of the program's own, for example) connects only threads of one process.
Result<void> check_reach(Environment& env, const RunConfig& config);

/// Like train_task(), for a task of a cluster: first opens the task's own port. A worker then waits for up to
/// RunConfig::max_worker_delay_secs, so that workers start one by one. `request` outlives the task.
Task<Result<TrainOutcome>> trainer_task(Environment& env, const TrainRequest& request);

/// True for the error of a task that was asked to end before it began.
bool is_interrupt(const Error& error);

}  // namespace shoal
