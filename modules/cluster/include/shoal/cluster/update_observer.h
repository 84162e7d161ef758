// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An interface to observe a job's updates from outside: simulations and tests check jobs with it, and the endpoint for
/// monitoring systems counts updates with it. Other programs have no observer.
#include <cstdint>

namespace shoal::cluster {

/// One trainer's update, as one shard sees it.
struct ObservedUpdate {
  int shard = 0;
  uint64_t server = 0;  ///< The random number that the server's process drew at its start.
  uint64_t epoch = 0;
  /// The model loading (epoch) whose weights the gradient was computed on, as the trainer named it.
  uint64_t made_in_epoch = 0;
  int trainer = 0;           ///< The trainer's number; the chief is 0.
  uint64_t process = 0;      ///< The random number that the trainer's process drew at its start.
  uint64_t sequence = 0;     ///< The number of the push among the pushes of the trainer's process.
  uint64_t ordinal = 0;      ///< How many batches the trainer has read from its input, including the one of this push.
  uint64_t commit = 0;       ///< Which commit applied the update, counted since the model was loaded.
  uint64_t global_step = 0;  ///< The global step after the update.
  /// The staleness: how many updates came between the weights that the gradient was computed on and this update.
  uint64_t staleness = 0;
};

/// Each function is called on the strand of the task that reports.
class UpdateObserver {
 public:
  virtual ~UpdateObserver() = default;
  /// A server begins to serve a model, initialized or restored, at `global_step`; `epoch` numbers the model loadings.
  virtual void activated(int /*shard*/, uint64_t /*server*/, uint64_t /*epoch*/, uint64_t /*global_step*/) {}
  /// A server has applied an update. Not called again if the trainer sends the push again.
  virtual void applied(const ObservedUpdate&) {}
  /// Called after an update. A server's buffers have `bytes` bytes now; the formula in server_memory.h allows `most` bytes.
  virtual void holds(int /*shard*/, uint64_t /*bytes*/, uint64_t /*most*/) {}
  /// Called by a trainer when all shards have told it that its update was applied. The fields `shard`, `server`, `sequence`
  /// and `staleness` of the argument are not set.
  virtual void counted(const ObservedUpdate&) {}
  /// A trainer has made a step, or has got the model. `global_step` is the newest that the trainer knows.
  virtual void stepped(int /*trainer*/, uint64_t /*global_step*/) {}
  /// A trainer has told shard 0, which is at `global_step`, that the trainer's input has ended.
  virtual void ended(int /*trainer*/, uint64_t /*global_step*/) {}
  /// A trainer has been away for longer than lost_grace: from now on the other trainers make its share of each step.
  virtual void replaced(int /*trainer*/) {}
  /// `peers` tasks of the job are now connected to the reporting task, more or fewer than before. A server counts trainers
  /// and other servers, a trainer counts servers.
  virtual void connected(int /*peers*/) {}
};

}  // namespace shoal::cluster
