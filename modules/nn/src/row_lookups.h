// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds the variables on which a loss depends only through lookups of rows.
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::nn {

/// For each variable, the nodes that look up its rows if the loss depends on it only through these; else an empty list.
std::vector<std::vector<NodeId>> lookups_of(Value loss, const std::vector<Value>& variables);

}  // namespace shoal::nn
