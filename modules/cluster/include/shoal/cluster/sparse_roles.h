// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The workers and servers of a cluster whose indices have gaps, such as worker 0 and worker 2 (a "sparse" cluster). Names,
/// addresses and certificates use the index. Trainers and shards are numbered without gaps, by their position in the list.
#include <cstdint>
#include <optional>
#include <vector>

#include "shoal/cluster/cluster_spec.h"

namespace shoal::cluster {

struct SparseRoles {
  std::vector<int32_t> workers;  ///< Indices, ascending; empty stands for 0, 1, 2, ..., as in most clusters.
  std::vector<int32_t> servers;  ///< Indices of the servers, ascending; empty stands for 0, 1, 2, ...
};
SparseRoles sparse_roles(const ClusterSpec& cluster);

/// The position of `index` in a list of SparseRoles; nothing if it is not listed, or negative.
std::optional<int32_t> position_in(const std::vector<int32_t>& listed, int32_t index);
/// The index that stands at `position` in a list of SparseRoles: the inverse of position_in().
int32_t index_at(const std::vector<int32_t>& listed, int32_t position);

}  // namespace shoal::cluster
