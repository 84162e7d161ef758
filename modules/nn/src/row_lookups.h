// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds the variables on which a loss depends only through lookups of rows.
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::nn {

/// Returns the nodes that look up rows of each variable; none unless the loss depends on it through these alone.
std::vector<std::vector<NodeId>> lookups_of(Value loss, const std::vector<Value>& variables);

}  // namespace shoal::nn
