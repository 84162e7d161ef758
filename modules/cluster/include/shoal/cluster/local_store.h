#pragma once
/// Parameters of a run in one process: one shard, updated in place, no messages.
#include "shoal/cluster/store.h"

namespace shoal::cluster {

/// `plan` has one shard.
std::unique_ptr<Store> make_local_store(Environment& env, ShardPlan plan);

}  // namespace shoal::cluster
