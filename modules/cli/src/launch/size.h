// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reduces a cluster of a named size ("basic", ...) if the available machines cannot run that many trainers.
#include <optional>
#include <string>

#include "shoal/cluster/cluster_spec.h"

namespace shoal::cli::launch {

struct FittedSize {
  cluster::ClusterSize size;
  std::optional<std::string> warning{};  ///< Tells the size and why it was reduced; nothing if it was not.
};
/// Returns the cluster size that `name` stands for ("basic", ...; cluster::parse_cluster_size()), reduced to `trainers_max`
/// trainers. Trainers are the chief and the workers. At least one worker remains, and the number of servers is reduced in
/// proportion. `room` tells in the warning where the limit comes from ("the 2 cores of this machine"). InvalidArgument for
/// an unknown name.
Result<FittedSize> fit_named_size(const std::string& name, int trainers_max, const std::string& room);

}  // namespace shoal::cli::launch
