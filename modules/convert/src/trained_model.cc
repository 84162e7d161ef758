// SPDX-License-Identifier: Apache-2.0
#include "shoal/convert/trained_model.h"

namespace shoal::convert {

std::vector<NodeId> needed_nodes(const Graph& graph, const std::vector<Value>& values,
                                 const std::function<bool(const Node& node)>& is_source) {
  std::vector<bool> needed(graph.nodes().size());
  for (const Value& value : values) needed[size_t(value.node())] = true;
  // Backwards, so that all nodes that read a node's outputs are seen before that node.
  for (size_t i = needed.size(); i-- > 0;) {
    if (!needed[i] || (is_source && is_source(graph.node(NodeId(i))))) continue;
    for (const Value& input : graph.node(NodeId(i)).inputs) needed[size_t(input.node())] = true;
  }
  std::vector<NodeId> ids;
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) ids.push_back(NodeId(i));
  }
  return ids;
}

}  // namespace shoal::convert
