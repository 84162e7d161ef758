// SPDX-License-Identifier: Apache-2.0
#include "server/strategy.h"

#include "shoal/cluster/strategy_text.h"

namespace shoal::cluster {

Result<std::unique_ptr<UpdateStrategy>> make_strategy(std::string_view text, int trainers) {
  SHOAL_TRY(const StrategyText strategy, parse_strategy(text));
  if (!strategy.sync) return async_strategy();
  const int aggregated = strategy.replicas_to_aggregate.value_or(trainers);
  SHOAL_TRY_VOID(check_aggregation(aggregated, trainers));
  return sync_strategy(aggregated, trainers);
}

}  // namespace shoal::cluster
