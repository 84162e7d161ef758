// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The idle wait of a worker that has finished its part. Its work is durable only with the last checkpoint: until then the
/// loss of a server sends the job back to an older checkpoint. So the worker stays until the end of the job is announced,
/// ready to train again.
#include "shoal/cluster/remote_store.h"
#include "train/train_scope.h"
#include "train/trainer_folder.h"

namespace shoal {

struct WorkerRestOptions {
  cluster::RemoteStore& servers;
  TrainerFolder& folder;
  bool input_ended = false;     ///< True if the input has ended, and its position can be saved.
  bool stopped_by_job = false;  ///< True if the worker stopped because the job asked it to.
  std::string why;              ///< Why this worker stopped training: "end_of_input", for example, as in an end mark.
};

/// Returns when the servers or the end mark say that the job has ended, or when this task is interrupted. Errors:
/// Unavailable if a server is lost (attach to the servers again and resume training); DeadlineExceeded if a server, or the
/// chief, has been missing for ready_timeout_secs. `scope`, and all objects to which `options` refers, outlive the call.
Task<Result<void>> rest_until_the_end(TrainScope& scope, WorkerRestOptions options);

}  // namespace shoal
