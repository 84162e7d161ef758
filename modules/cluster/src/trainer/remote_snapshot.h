// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The chief's view of a snapshot that the servers hold for a checkpoint.
#include <memory>

#include "shoal/cluster/snapshot.h"
#include "trainer/links.h"
#include "trainer/residual_exchange.h"

namespace shoal::cluster {

/// The most bytes in one message that reads or restores state.
inline constexpr uint64_t kSnapshotPartBytes = uint64_t(16) << 20;

/// Makes all servers take a snapshot at the same version of the weights. The servers keep it for this process, the chief,
/// which reads it over its connections. All references outlive the result.
Task<Result<std::unique_ptr<Snapshot>>> hold_for_snapshot(Environment& env, const ShardPlan& plan, ServerLinks& servers,
                                                          ResidualExchange& residuals);

}  // namespace shoal::cluster
