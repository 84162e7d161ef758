// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A worker that is through with its part stays, idle, until the end of the job is announced: what it did is durable only
/// with the last checkpoint (CONTRACT JE-1), and a server that is lost before that takes the job back to an older one.
#include "shoal/cluster/remote_store.h"
#include "train/train_scope.h"
#include "train/trainer_folder.h"

namespace shoal {

struct WorkerRestOptions {
  cluster::RemoteStore& servers;
  TrainerFolder& folder;
  bool input_ended = false;     ///< Its input has ended, at a position that it can tell.
  bool stopped_by_job = false;  ///< It stopped because the job asked for it.
  std::string why;              ///< As a mark says it: "end_of_input".
};

/// Returns once the job has ended, as servers or the end mark say, or with an interrupt of this task. Errors: Unavailable, of
/// a lost server: attach again, and go on; DeadlineExceeded: no server, or no chief, for ready_timeout_secs. `scope` and what
/// the options name outlive the call.
Task<Result<void>> rest_until_the_end(TrainScope& scope, WorkerRestOptions options);

}  // namespace shoal
