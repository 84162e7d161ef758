// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which workers and servers there are where a cluster does not list all from 0 on (CONTRACT CL-9). Their names,
/// addresses and certificates go by index; trainers, shards and all that is counted without gaps by position: the k-th
/// that is listed.
#include <cstdint>
#include <optional>
#include <vector>

#include "shoal/cluster/cluster_spec.h"

namespace shoal::cluster {

struct SparseRoles {
  std::vector<int32_t> workers;  ///< Indices, ascending; empty for 0, 1, 2, ..., which is what most clusters have.
  std::vector<int32_t> servers;  ///< The same for the servers.
};
SparseRoles sparse_roles(const ClusterSpec& cluster);

/// Where `index` stands in one of these lists; nothing if it is not listed, or negative.
std::optional<int32_t> position_in(const std::vector<int32_t>& listed, int32_t index);
/// The index of the one that stands there: the opposite.
int32_t index_at(const std::vector<int32_t>& listed, int32_t position);

}  // namespace shoal::cluster
