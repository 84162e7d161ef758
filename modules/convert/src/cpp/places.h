// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Place, a key for one output of a node. Functions that find the outputs which a generated function computes and reads.
#include <set>
#include <utility>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::convert::cpp {

/// An output of a node: the node's id, and the index of the output.
using Place = std::pair<NodeId, int>;
inline Place place_of(const Value& value) { return {value.node(), value.output()}; }

/// The nodes from which values are computed, in the graph's order, without nodes of which only the shape is used.
std::vector<NodeId> computed_nodes(const Graph& graph, const std::vector<Value>& values);
/// The outputs that `nodes` read (not only their shapes), together with the outputs that `fetches` names.
std::set<Place> read_places(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<Value>& fetches);
/// The value that owns the memory of `value`: for a view, the owner of its operand's memory.
Value root_of(const Graph& graph, Value value);
/// True if a value is a variable or a constant.
bool is_known_value(const Graph& graph, const Value& value);

}  // namespace shoal::convert::cpp
