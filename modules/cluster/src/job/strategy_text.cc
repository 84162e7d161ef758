// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/strategy_text.h"

#include "shoal/base/number_text.h"

namespace shoal::cluster {
namespace {

constexpr std::string_view kAsync = "async", kSync = "sync", kOpen = "sync(";

}  // namespace

std::string to_string(const StrategyText& strategy) {
  if (!strategy.sync) return std::string(kAsync);
  if (!strategy.replicas_to_aggregate) return std::string(kSync);
  return std::string(kOpen) + std::to_string(*strategy.replicas_to_aggregate) + ")";
}

Result<StrategyText> parse_strategy(std::string_view text) {
  if (text == kAsync) return StrategyText{};
  if (text == kSync) return StrategyText{.sync = true};
  const bool named = text.starts_with(kOpen) && text.ends_with(")");
  const std::string_view number = named ? text.substr(kOpen.size(), text.size() - kOpen.size() - 1) : std::string_view();
  const std::optional<int> aggregated = number_from<int>(number);
  if (!aggregated || *aggregated < 1) {
    return invalid_argument("there is no update strategy \"" + std::string(text) + "\"; async, sync and sync(R) are");
  }
  return StrategyText{.sync = true, .replicas_to_aggregate = aggregated};
}

Result<void> check_aggregation(int replicas_to_aggregate, int trainers) {
  const bool fits = replicas_to_aggregate >= 1 && trainers >= 1 &&
                    (replicas_to_aggregate <= trainers || replicas_to_aggregate % trainers == 0);
  if (fits) return {};
  return invalid_argument("replicas_to_aggregate is " + std::to_string(replicas_to_aggregate) + ", and the job has " +
                          std::to_string(trainers) + (trainers == 1 ? " trainer" : " trainers") +
                          " (the chief is one): it has to be from 1 to that number, or a multiple of it");
}

}  // namespace shoal::cluster
