// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds the variables on which a loss depends only through lookups of rows.
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::nn {

/// For each variable on which the loss depends only through look-ups of rows, the nodes of these look-ups; else none.
std::vector<std::vector<NodeId>> lookups_of(Value loss, const std::vector<Value>& variables);

}  // namespace shoal::nn
