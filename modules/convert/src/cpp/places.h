// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Outputs of nodes as keys, and which of them a function computes.
#include <set>
#include <utility>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::convert::cpp {

/// An output of a node.
using Place = std::pair<NodeId, int>;
inline Place place_of(const Value& value) { return {value.node(), value.output()}; }

/// The nodes that values are computed from, in their order; those that are used for their shape alone are not among them.
std::vector<NodeId> computed_nodes(const Graph& graph, const std::vector<Value>& values);
/// The outputs that any of these nodes, or a fetch, reads.
std::set<Place> read_places(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<Value>& fetches);
/// The value whose memory a value has: views have their operand's.
Value root_of(const Graph& graph, Value value);
/// True if a value is a variable or a constant.
bool is_known_value(const Graph& graph, const Value& value);

}  // namespace shoal::convert::cpp
