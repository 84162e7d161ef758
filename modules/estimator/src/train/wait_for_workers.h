// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The chief stays until the workers are done, so that the last checkpoint has their work (CONTRACT CH-8).
#include <optional>

#include "shoal/checkpoint/end_mark.h"
#include "shoal/cluster/remote_store.h"
#include "train/checkpoint_saver.h"
#include "train/train_scope.h"

namespace shoal {

struct WorkerWaitOptions {
  cluster::RemoteStore& servers;
  CheckpointSaver* saver = nullptr;  ///< Saves what workers still do; null if nothing is saved meanwhile.
  std::optional<int64_t> max_steps;
  SteadyTime made_ready{};      ///< When the chief last brought the model to the servers, or found it there.
  bool tells_positions = true;  ///< Whether the chief's own input can say where it is.
  bool saves_nothing = false;   ///< True if nothing is saved any more, so that no failure is in its way.
  std::function<Result<void>()> check_place = {};  ///< LoopOptions::check_place.
};

/// With the chief's own input at an end (`reason`) it waits for as long as the workers make progress, else for the
/// steps that are under way, and asks them to stop. An interrupt or a hook's request ends the patience; returned is
/// what the job ends for in the end. `scope` and what the options name outlive the call.
/// Errors: NanLoss where an update has written a value that is not finite; that of a worker that has failed for good, if the
/// job is interrupted afterwards: a launcher stops the others then, and that is no end to save for (CONTRACT CK-17).
Task<Result<checkpoint::EndReason>> wait_for_workers(TrainScope& scope, WorkerWaitOptions options,
                                                     checkpoint::EndReason reason);

}  // namespace shoal
