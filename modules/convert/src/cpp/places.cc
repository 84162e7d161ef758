// SPDX-License-Identifier: Apache-2.0
#include "cpp/places.h"

#include <algorithm>

#include "shoal/graph/op.h"
#include "shoal/graph/source.h"

namespace shoal::convert::cpp {
namespace {

bool is_shape_only(const Graph& graph, const Node& node, size_t input) {
  const OpDef* const op = graph.catalogue().find(node.op);
  return op && op->is_shape_only(int(input));
}

}  // namespace

std::vector<NodeId> computed_nodes(const Graph& graph, const std::vector<Value>& values) {
  std::vector<bool> needed(graph.nodes().size());
  for (const Value& value : values) needed[size_t(value.node())] = true;
  std::vector<NodeId> ids;
  // Goes from the last node to the first, so that it visits a node before the inputs of the node, which have smaller ids.
  for (size_t id = needed.size(); id-- > 0;) {
    if (!needed[id]) continue;
    ids.push_back(NodeId(id));
    const Node& node = graph.node(NodeId(id));
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_shape_only(graph, node, i)) needed[size_t(node.inputs[i].node())] = true;
    }
  }
  std::reverse(ids.begin(), ids.end());
  return ids;
}

std::set<Place> read_places(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<Value>& fetches) {
  std::set<Place> read;
  for (const Value& value : fetches) read.insert(place_of(value));
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_shape_only(graph, node, i)) read.insert(place_of(node.inputs[i]));
    }
  }
  return read;
}

Value root_of(const Graph& graph, Value value) {
  while (true) {
    const Node& node = graph.node(value.node());
    const OpDef* const op = graph.catalogue().find(node.op);
    if (!op || !op->view) return value;
    value = node.inputs[0];
  }
}

bool is_known_value(const Graph& graph, const Value& value) {
  const Source source = source_of(graph.node(value.node()).op);
  return source == Source::kVariable || source == Source::kConstant;
}

}  // namespace shoal::convert::cpp
