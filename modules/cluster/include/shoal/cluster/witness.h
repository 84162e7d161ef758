#pragma once
/// Told what becomes of a job's updates: for whoever checks a job from outside (a simulation). Programs have none.
#include <cstdint>

namespace shoal::cluster {

/// One trainer's update, as one shard sees it.
struct WitnessedUpdate {
  int shard = 0;
  uint64_t server = 0;  ///< incarnation of the server's process
  uint64_t epoch = 0;
  uint64_t made_in_epoch = 0;  ///< what its trainer said: of the weights that it is a gradient of
  int trainer = 0;           ///< chief 0
  uint64_t process = 0;      ///< incarnation of the trainer's process
  uint64_t sequence = 0;     ///< the push's number there
  uint64_t ordinal = 0;      ///< batches that the trainer's input had handed out, this one too
  uint64_t commit = 0;       ///< number of the commit that it is part of, in this epoch
  uint64_t global_step = 0;  ///< afterwards
};

/// Called on the strand of the task that does it.
class Witness {
 public:
  virtual ~Witness() = default;
  /// A server begins to serve `epoch`, initialized or restored, at `global_step`.
  virtual void activated(int /*shard*/, uint64_t /*server*/, uint64_t /*epoch*/, uint64_t /*global_step*/) {}
  /// A server has applied an update, for the first time.
  virtual void applied(const WitnessedUpdate&) {}
  /// What the buffers of a server's task take after an update, and the most that its formula allows (server_memory.h).
  virtual void holds(int /*shard*/, uint64_t /*bytes*/, uint64_t /*most*/) {}
  /// A trainer was answered by all shards that its update counts. `shard`, `server` and `sequence` say nothing.
  virtual void counted(const WitnessedUpdate&) {}
  /// A trainer has made a step, or was made ready: what it knows of the global step.
  virtual void stepped(int /*trainer*/, uint64_t /*global_step*/) {}
};

}  // namespace shoal::cluster
