// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/named_size.h"

#include <algorithm>

#include "job/quote.h"

namespace shoal::cluster {

std::optional<ClusterSize> named_size(std::string_view name) {
  if (name == "basic") return ClusterSize{};
  if (name == "standard") return ClusterSize{.ps = 3, .workers = 4, .evaluator = true};
  if (name == "premium") return ClusterSize{.ps = 11, .workers = 19, .evaluator = true};
  return {};
}

TrainerRoom room_on_cores(int32_t cores) {
  return {.trainers_max = cores,
          .place = "the " + std::to_string(cores) + (cores == 1 ? " core" : " cores") + " of this machine"};
}

Result<FittedSize> fit_named_size(std::string_view name, const TrainerRoom& room) {
  const std::optional<ClusterSize> named = named_size(name);
  if (!named) return invalid_argument(in_quotes(name) + " is none of basic, standard, premium");
  FittedSize fitted{.size = *named};
  if (named->workers == 0) return fitted;
  ClusterSize& size = fitted.size;
  size.workers = std::clamp(room.trainers_max - 1, 1, named->workers);
  size.ps = std::max(1, (named->ps * size.workers + named->workers - 1) / named->workers);
  if (size != *named) {
    fitted.warning = "the size " + std::string(name) + " is " + to_string(*named) + ", which is more than " + room.place +
                     " can train with: it is cut to " + to_string(size);
  }
  return fitted;
}

Result<FittedSize> parse_cluster_size(std::string_view text, const TrainerRoom& room) {
  FittedSize fitted;
  if (!named_size(text)) {
    SHOAL_TRY(fitted.size, parse_cluster_size(text));
    return fitted;
  }
  SHOAL_TRY(fitted, fit_named_size(text, room));
  if (fitted.warning) *fitted.warning += " (counts in place of the name are not cut)";
  return fitted;
}

}  // namespace shoal::cluster
