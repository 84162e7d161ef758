// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Clusters of a usual size, known by name: basic, standard, premium. On machines that cannot run so many trainers they are
/// made smaller.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/cluster/cluster_spec.h"

namespace shoal::cluster {

/// The size that `name` stands for: basic (chief only), standard (4 workers, 3 ps, evaluator), premium (19 workers, 11 ps,
/// evaluator). Nothing for another name.
std::optional<ClusterSize> named_size(std::string_view name);

/// The number of trainers (the chief and the workers) that the available machines can run.
struct TrainerRoom {
  int32_t trainers_max = 1;
  std::string place;  ///< Where the limit comes from, for warnings: "the 2 cores of this machine".
};
/// The room on a machine on which the process may use so many cores: one trainer for each.
TrainerRoom room_on_cores(int32_t cores);

struct FittedSize {
  ClusterSize size;
  std::optional<std::string> warning{};  ///< Tells the size and why it was reduced; nothing if it was not.
};
/// Returns the size that `name` stands for (named_size()), reduced if `room` is for fewer trainers. At least one worker
/// remains, and the number of servers is reduced in proportion. InvalidArgument for an unknown name.
Result<FittedSize> fit_named_size(std::string_view name, const TrainerRoom& room);
/// Reads a cluster size as parse_cluster_size() does, for a cluster that runs where `room` is. A named size is reduced as by
/// fit_named_size(); counts are taken as they stand.
Result<FittedSize> parse_cluster_size(std::string_view text, const TrainerRoom& room);

}  // namespace shoal::cluster
