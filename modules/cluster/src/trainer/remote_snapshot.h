// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A state that servers hold for a checkpoint, as the chief reads it.
#include <memory>

#include "shoal/cluster/snapshot.h"
#include "trainer/links.h"
#include "trainer/residual_exchange.h"

namespace shoal::cluster {

/// The most that is read, or restored, in one message.
inline constexpr uint64_t kSnapshotPartBytes = uint64_t(16) << 20;

/// Has all servers hold their state of one commit, for the chief of this process, who reads it over its own
/// connections. All outlive what is returned.
Task<Result<std::unique_ptr<Snapshot>>> hold_for_snapshot(Environment& env, const ShardPlan& plan, ServerLinks& servers,
                                                          ResidualExchange& residuals);

}  // namespace shoal::cluster
