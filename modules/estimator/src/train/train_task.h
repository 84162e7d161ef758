// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Training as one task does it: local process, chief, master or worker. They differ in the store and in who saves.
#include "shoal/base/environment.h"
#include "train/train_request.h"

namespace shoal {

/// `request` outlives the task.
Task<Result<TrainOutcome>> train_task(Environment& env, const TrainRequest& request);

/// What train_and_evaluate() and Estimator::train() look at before anything is opened or written: a role that cannot run,
/// replicas in a task of a cluster (FailedPrecondition both), the task's own address, who may join (CONTRACT CL-18).
Result<void> check_task(const RunConfig& config);
/// What they look at once there is the environment of the task: a transport, of the program's own say, that connects only threads of
/// one process, in a process that has to meet others (FailedPrecondition).
Result<void> check_reach(Environment& env, const RunConfig& config);

/// The same in a cluster: opens the task's own port first, and waits before it where workers start late. `request` outlives
/// the task.
Task<Result<TrainOutcome>> trainer_task(Environment& env, const TrainRequest& request);

/// True for a task that was asked to end before it began.
bool is_interrupt(const Error& error);

}  // namespace shoal
