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
  /// W + 2 versions of the weights, P bytes each: the current version, the next one while it is computed, and one on its
  /// way to each of the W trainers.
  uint64_t versions = 0;
  uint64_t slots = 0;  ///< S slots of the update rules (momenta and the like), each with P bytes, as the weights.
  /// max(W, R) pushes that wait for their commit, with W trainers and updates of R pushes. A push takes P bytes, as much as
  /// the weights. An encoded push, or one by rows, takes twice as much, since the server has it both as received and as
  /// decoded. With top-k compression another W P: each trainer sends its residual (unsent gradients) for a checkpoint.
  uint64_t updates = 0;
  uint64_t snapshot = 0;  ///< (1 + S) P bytes: the weights and S slots that a checkpoint in progress still has to read.
  /// For each row of the variables that are updated by rows: 16 bytes for the row's number and address in each of max(W, R)
  /// waiting pushes, with W trainers and updates of R pushes; and 16 bytes for one reply and the newest updates together.
  /// Usually much less is used, since a push contains few of the rows.
  uint64_t row_numbers = 0;
  uint64_t total() const { return versions + slots + updates + snapshot + row_numbers; }
};
/// `aggregated` is R, the number of pushes that make one update: 1 for asynchronous updates. `gradients` is the encoding in
/// which trainers send gradients.
ServerMemory server_memory(const ShardSpec& spec, int trainers, int aggregated = 1,
                           transport::Encoding gradients = transport::Encoding::kDense);

/// The bytes that a push takes besides its gradients: the input position, and scalars.
inline constexpr uint64_t kPushOverhead = uint64_t(64) << 10;
/// Limits the memory that one trainer's unanswered pushes take on a server. At the limit the server reads no more from that
/// trainer until one of these pushes is applied or dropped. (A push that is answered, but waits for a later update, is not
/// limited here: there are never more such pushes than one update needs.)
struct PushLimit {
  /// Room for two pushes of P bytes (the size of the weights): 2 P, plus twice kPushOverhead. A second push exists only if
  /// the trainer sends a push again, or abandons one and makes another. Meanwhile the server sends no weights to this
  /// trainer, so the second push may take the memory that ServerMemory::versions counts for them.
  uint64_t dense = 0;
  uint64_t encoded = 0;  ///< For compressed pushes and pushes by rows: 3 times the weights, plus twice kPushOverhead.
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
