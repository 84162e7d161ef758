// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/sparse_roles.h"

#include <algorithm>

namespace shoal::cluster {
namespace {

std::vector<int32_t> indices_with_gaps(std::span<const ClusterSpec::Node> nodes) {
  std::vector<int32_t> indices;
  if (nodes.empty() || nodes.back().index + 1 == int32_t(nodes.size())) return indices;
  for (const ClusterSpec::Node& node : nodes) indices.push_back(node.index);
  return indices;
}

}  // namespace

SparseRoles sparse_roles(const ClusterSpec& cluster) {
  return {indices_with_gaps(cluster.nodes(kWorkerRole)), indices_with_gaps(cluster.nodes(kPsRole))};
}

std::optional<int32_t> position_in(const std::vector<int32_t>& listed, int32_t index) {
  if (listed.empty()) return index >= 0 ? std::optional(index) : std::nullopt;
  const auto at = std::lower_bound(listed.begin(), listed.end(), index);
  if (at == listed.end() || *at != index) return std::nullopt;
  return int32_t(at - listed.begin());
}

int32_t index_at(const std::vector<int32_t>& listed, int32_t position) {
  return listed.empty() ? position : listed[size_t(position)];
}

}  // namespace shoal::cluster
