// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The most memory that a parameter server takes for its shard, by a formula. The server logs it when the model is
/// ready.
#include <cstdint>
#include <string>

#include "shoal/cluster/shard_plan.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {

/// Memory in bytes, for P bytes of weights, W trainers, updates of R pushes each, and S slots.
struct ServerMemory {
  /// W + 2 versions of P bytes: the current one, the next one while it is computed, and one on its way to each trainer.
  uint64_t versions = 0;
  uint64_t slots = 0;  ///< S slots of P bytes, which the update rules use.
  /// max(W, R) pushes of P bytes that wait for their commit; twice as much for encoded pushes and pushes by rows, which
  /// are held both as received and as decoded. With top-k also W P, the residual of each trainer for a checkpoint.
  uint64_t updates = 0;
  uint64_t snapshot = 0;  ///< (1 + S) P: weights and slots that a checkpoint in progress keeps while training goes on.
  /// 16 (max(W, R) + 1) bytes for each row of variables with lazy rows: row numbers, and addresses of rows, of each waiting
  /// push, of one reply, and of the newest updates. Pushes usually name few rows.
  uint64_t row_numbers = 0;
  uint64_t total() const { return versions + slots + updates + snapshot + row_numbers; }
};
/// `aggregated`: R, which is 1 for asynchronous updates. `gradients`: how trainers send them.
ServerMemory server_memory(const ShardSpec& spec, int trainers, int aggregated = 1,
                           transport::Encoding gradients = transport::Encoding::kDense);

/// The bytes that a push takes besides its gradients: the input position, and scalars.
inline constexpr uint64_t kPushOverhead = uint64_t(64) << 10;
/// The most bytes of one trainer's unanswered pushes that a server keeps; beyond that it reads no more from the trainer
/// until an order decides about a push. (Answered pushes that are kept for a later commit are at most R together.)
struct PushLimit {
  /// 2 P, plus twice kPushOverhead. The second P is for a push that is sent again, or that follows an abandoned one: no
  /// version of the weights is on its way to the trainer then, so this push may take the memory of that version.
  uint64_t dense = 0;
  uint64_t encoded = 0;  ///< 3 P, plus twice kPushOverhead: for compressed pushes and pushes by rows.
};
PushLimit push_limit(const ShardSpec& spec);

/// FailedPrecondition if weights, slots and a single push exceed `memory_bytes` (ProcessInfo: the limit of the machine,
/// the cgroup or the process). 0 means that the limit is not known: no error.
Result<void> fits_into_memory(const ShardSpec& spec, uint64_t memory_bytes);

/// FailedPrecondition if `memory`, added to the `held_bytes` that the process takes without a model, exceeds
/// `limit_bytes` (ParameterServerOptions::memory_limit).
Result<void> fits_into_limit(const ServerMemory& memory, uint64_t held_bytes, uint64_t limit_bytes);

/// "at most 20.0 MiB: versions 12.0, slots 0.0, updates 4.0, snapshot 4.0"; if `row_numbers` is not 0, then also
/// ", row numbers 0.5".
std::string to_string(const ServerMemory& memory);

}  // namespace shoal::cluster
