// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The chief's wait for the workers at the end, so that the last checkpoint has all of their work.
#include <optional>

#include "shoal/checkpoint/end_mark.h"
#include "shoal/cluster/remote_store.h"
#include "train/checkpoint_saver.h"
#include "train/train_scope.h"

namespace shoal {

struct WorkerWaitOptions {
  cluster::RemoteStore& servers;
  CheckpointSaver* saver = nullptr;  ///< Saves checkpoints during the wait; null if none are saved.
  std::optional<int64_t> max_steps;
  SteadyTime made_ready{};      ///< The time when the chief last brought the model to the servers, or found it there.
  bool tells_positions = true;  ///< Whether the chief's own input can tell how far it was read.
  bool saves_nothing = false;   ///< True if no checkpoint is saved after the wait, which a failed worker could damage.
  std::function<Result<void>()> check_place = {};  ///< See LoopOptions::check_place.
};

/// Waits for the workers to finish, and returns the reason for which the job ends. If the chief's own input has ended
/// (`reason`), waits as long as workers make progress; an interrupt or a hook's request shortens this wait. For any other
/// `reason`, asks the workers to stop, and waits for their present steps. `scope` and everything that the options name
/// outlive the call. Errors: NanLoss if an update has written a value that is not finite. If the job is interrupted, also
/// the error of a worker that has failed for good: a launcher is then stopping the other tasks, and nothing may be saved.
Task<Result<checkpoint::EndReason>> wait_for_workers(TrainScope& scope, WorkerWaitOptions options,
                                                     checkpoint::EndReason reason);

}  // namespace shoal
