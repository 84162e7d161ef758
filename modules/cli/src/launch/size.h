#pragma once
/// Named cluster sizes, and what of them fits one machine (CONTRACT LA-4).
#include <optional>
#include <string>

#include "shoal/cluster/cluster_spec.h"

namespace shoal::cli::launch {

struct FittedSize {
  cluster::ClusterSize size;
  std::optional<std::string> warning{};  ///< Set if it is smaller than its name says: what it is, and why.
};
/// A named size (cluster::parse_cluster_size) for a machine of `cores` usable cores: the chief and the workers are no more
/// than those, but at least one worker stays, and of the servers the same part. InvalidArgument for any other name.
Result<FittedSize> fit_named_size(const std::string& name, int cores);

}  // namespace shoal::cli::launch
