// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which variables a loss depends on through lookups of rows alone.
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::nn {

/// The lookups of each of these variables, if the loss depends on it through lookups alone; else none.
std::vector<std::vector<NodeId>> lookups_of(Value loss, const std::vector<Value>& variables);

}  // namespace shoal::nn
