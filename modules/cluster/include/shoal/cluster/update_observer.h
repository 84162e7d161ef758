// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Told what becomes of a job's updates: for whoever checks a job from outside (a simulation). Programs have none.
#include <cstdint>

namespace shoal::cluster {

/// One trainer's update, as one shard sees it.
struct ObservedUpdate {
  int shard = 0;
  uint64_t server = 0;  ///< The incarnation of the server's process.
  uint64_t epoch = 0;
  /// The epoch that the trainer named: that of the weights that the update is a gradient of.
  uint64_t made_in_epoch = 0;
  int trainer = 0;           ///< The trainer's number; the chief is 0.
  uint64_t process = 0;      ///< The incarnation of the trainer's process.
  uint64_t sequence = 0;     ///< The number of the push in that process.
  uint64_t ordinal = 0;      ///< How many batches the trainer's input had handed out, with this one.
  uint64_t commit = 0;       ///< The number, in this epoch, of the commit that the update is part of.
  uint64_t global_step = 0;  ///< The global step afterwards.
};

/// Called on the strand of the task that does it.
class UpdateObserver {
 public:
  virtual ~UpdateObserver() = default;
  /// A server begins to serve `epoch`, initialized or restored, at `global_step`.
  virtual void activated(int /*shard*/, uint64_t /*server*/, uint64_t /*epoch*/, uint64_t /*global_step*/) {}
  /// A server has applied an update, for the first time.
  virtual void applied(const ObservedUpdate&) {}
  /// What the buffers of a server's task take after an update, and the most that its formula allows (server_memory.h).
  virtual void holds(int /*shard*/, uint64_t /*bytes*/, uint64_t /*most*/) {}
  /// A trainer was answered by all shards that its update counts. `shard`, `server` and `sequence` say nothing.
  virtual void counted(const ObservedUpdate&) {}
  /// A trainer has made a step, or was made ready: what it knows of the global step.
  virtual void stepped(int /*trainer*/, uint64_t /*global_step*/) {}
  /// A trainer has told shard 0, which is at `global_step`, that its input has ended.
  virtual void ended(int /*trainer*/, uint64_t /*global_step*/) {}
  /// A trainer has been away for longer than the grace: the others make its share of each step from now on.
  virtual void replaced(int /*trainer*/) {}
};

}  // namespace shoal::cluster
