// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Named cluster sizes, and what of them fits the machines that are there (CONTRACT LA-4).
#include <optional>
#include <string>

#include "shoal/cluster/cluster_spec.h"

namespace shoal::cli::launch {

struct FittedSize {
  cluster::ClusterSize size;
  std::optional<std::string> warning{};  ///< Set if it is smaller than its name says: what it is, and why.
};
/// A named size (cluster::parse_cluster_size) where so many can train, as `room` says it ("the 2 cores of this machine"):
/// the chief and the workers are no more than those, but at least one worker stays, and of the servers the same part.
/// InvalidArgument for any other name.
Result<FittedSize> fit_named_size(const std::string& name, int trainers_max, const std::string& room);

}  // namespace shoal::cli::launch
