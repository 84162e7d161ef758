// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The most memory that a parameter server takes for its shard: a formula, told when the model is ready.
#include <cstdint>
#include <string>

#include "shoal/cluster/shard_plan.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {

/// Memory in bytes. With P bytes of weights, W trainers, updates of R pushes and S slots:
struct ServerMemory {
  /// (W + 2) P: the current one, the next while it is made, and one on its way to each trainer.
  uint64_t versions = 0;
  uint64_t slots = 0;  ///< S P: the slots of the update rules.
  /// max(W, R) P: the pushes that are held until they are committed. Encoded ones, and tables by rows: twice that, as they
  /// came and as they are read; with top-k also W P, the residual of each trainer for a checkpoint.
  uint64_t updates = 0;
  uint64_t snapshot = 0;  ///< (1 + S) P: what a checkpoint being written holds, once training has gone on.
  /// 16 (max(W, R) + 1) bytes for each row of a table by rows: which rows each held push names and where they lie, those
  /// that one reply names, and those that the newest updates have changed. Pushes name few of them as a rule.
  uint64_t row_numbers = 0;
  uint64_t total() const { return versions + slots + updates + snapshot + row_numbers; }
};
/// `aggregated`: R; 1 where updates are asynchronous. `gradients`: how trainers send them.
ServerMemory server_memory(const ShardSpec& spec, int trainers, int aggregated = 1,
                           transport::Encoding gradients = transport::Encoding::kDense);

/// What a push counts for beside its gradients: the position of an input, scalars.
inline constexpr uint64_t kPushOverhead = uint64_t(64) << 10;
/// How many bytes of one trainer's pushes that it was not answered a server keeps at most; then it takes no more of
/// them until one has been decided about. (Those that it was answered, to give another one to the same update, are R
/// together at most.)
struct PushLimit {
  /// 2 P: one that comes again, or after one that its trainer has given up, lies where the version would that is on its
  /// way to that trainer, and is not there meanwhile. Both limits: and twice kPushOverhead.
  uint64_t dense = 0;
  uint64_t encoded = 0;  ///< 3 P: the limit of compressed pushes and of tables by rows.
};
PushLimit push_limit(const ShardSpec& spec);

/// FailedPrecondition if weights, slots and one push alone are more than `memory_bytes` (ProcessInfo: the machine's, the
/// cgroup's limit, or the process's own); 0, which is not known, holds anything.
Result<void> fits_into_memory(const ShardSpec& spec, uint64_t memory_bytes);

/// FailedPrecondition if `memory`, beside the `held_bytes` that the process has without a model, are more than `limit_bytes`
/// (ParameterServerOptions::memory_limit).
Result<void> fits_into_limit(const ServerMemory& memory, uint64_t held_bytes, uint64_t limit_bytes);

/// "at most 20.0 MiB: versions 12.0, slots 0.0, updates 4.0, snapshot 4.0"; and ", row numbers 0.5" where there are any.
std::string to_string(const ServerMemory& memory);

}  // namespace shoal::cluster
