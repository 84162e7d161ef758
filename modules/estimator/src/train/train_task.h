// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Training in one task: local process, chief, master or worker. These differ in their store and in who saves.
#include "shoal/base/environment.h"
#include "train/train_request.h"

namespace shoal {

/// Runs the training. `request` outlives the task.
Task<Result<TrainOutcome>> train_task(Environment& env, const TrainRequest& request);

/// The checks of train_and_evaluate() and Estimator::train() before anything is opened or written: a role that cannot run
/// and replicas in a task of a cluster (both FailedPrecondition), the task's own address, and who may join the job.
Result<void> check_task(const RunConfig& config);
/// The checks that need the environment of the task: FailedPrecondition for a transport, such as one of the program's own,
/// that connects only threads of one process, in a process that has to connect to others.
Result<void> check_reach(Environment& env, const RunConfig& config);

/// As train_task(), in a cluster: first opens the task's own port, and then waits where workers start late. `request`
/// outlives the task.
Task<Result<TrainOutcome>> trainer_task(Environment& env, const TrainRequest& request);

/// True for the error of a task that was asked to end before it began.
bool is_interrupt(const Error& error);

}  // namespace shoal
