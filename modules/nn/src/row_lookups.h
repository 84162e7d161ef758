// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds the variables on which a loss depends only through lookups of rows.
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::nn {

/// Returns a list of nodes for each variable. If the loss depends on the variable only through look-ups of rows, the list
/// has the nodes of all these look-ups; else it is empty.
std::vector<std::vector<NodeId>> lookups_of(Value loss, const std::vector<Value>& variables);

}  // namespace shoal::nn
