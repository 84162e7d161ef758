// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The update strategy of a job as text, which tasks compare when they connect (TaskIdentity::strategy).
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal::cluster {

struct StrategyText {
  bool sync = false;  ///< False for asynchronous updates.
  /// For synchronous updates: the number of gradients per update. If it is not set, there is one for each trainer.
  std::optional<int> replicas_to_aggregate = {};
};
/// Returns a text such as "async", "sync" or "sync(3)".
std::string to_string(const StrategyText& strategy);
/// Reads a text that to_string() writes. InvalidArgument for any other text.
Result<StrategyText> parse_strategy(std::string_view text);

/// InvalidArgument, saying which numbers fit, unless `replicas_to_aggregate` is from 1 to the number of trainers, or a
/// multiple of that number.
Result<void> check_aggregation(int replicas_to_aggregate, int trainers);

}  // namespace shoal::cluster
