// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Parameters of a run in one process: one shard, updated in place, no messages.
#include "shoal/cluster/store.h"

namespace shoal::cluster {

struct LocalStoreOptions {
  bool advances_global_step = true;  ///< False if commits count no steps (a train_op that says so).
  int replicas = 1;                  ///< The most trainers that this process computes for.
  bool allow_non_finite = false;     ///< True if updates may write values that are not finite (Shard::poisoned()).
};
/// `plan` has one shard.
std::unique_ptr<Store> make_local_store(Environment& env, ShardPlan plan, LocalStoreOptions options = {});

}  // namespace shoal::cluster
