// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The update strategy of a job as its tasks compare it when they meet (TaskIdentity::strategy).
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal::cluster {

struct StrategyText {
  bool sync = false;                              ///< False for asynchronous updates.
  std::optional<int> replicas_to_aggregate = {};  ///< Where `sync` is set; none for all trainers.
};
/// "async", "sync", "sync(3)".
std::string to_string(const StrategyText& strategy);
/// Reads one of those, else InvalidArgument.
Result<StrategyText> parse_strategy(std::string_view text);

/// InvalidArgument, saying what would do, unless so many gradients per update suit so many trainers: at least 1, and at
/// most as many as there are trainers, or a multiple of that (CONTRACT SY-5 to SY-7).
Result<void> check_aggregation(int replicas_to_aggregate, int trainers);

}  // namespace shoal::cluster
