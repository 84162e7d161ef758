// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The store of a run in one process: one shard, updated in place, without messages.
#include "shoal/cluster/store.h"

namespace shoal::cluster {

struct LocalStoreOptions {
  bool advances_global_step = true;  ///< False if commits do not advance the global step (a train_op may ask for that).
  int replicas = 1;                  ///< The most trainers (replicas) for which this process computes.
  bool allow_non_finite = false;     ///< True if updates may write values that are not finite (Shard::poisoned()).
};
/// Makes the store. `plan` has one shard.
std::unique_ptr<Store> make_local_store(Environment& env, ShardPlan plan, LocalStoreOptions options = {});

}  // namespace shoal::cluster
