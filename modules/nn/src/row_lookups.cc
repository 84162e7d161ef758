// SPDX-License-Identifier: Apache-2.0
#include "row_lookups.h"

#include <map>
#include <utility>

#include "shoal/graph/op.h"

namespace shoal::nn {
namespace {

/// The nodes that the loss is computed from and through which its gradient may flow back.
std::vector<bool> computed_from(Value loss) {
  const Graph& graph = loss.graph();
  std::vector<bool> needed(graph.nodes().size());
  needed[size_t(loss.node())] = true;
  for (NodeId id = loss.node(); id >= 0; --id) {
    if (!needed[size_t(id)]) continue;
    const Node& node = graph.node(id);
    const OpDef* op = graph.catalogue().find(node.op);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!op || !(op->stops_gradient || op->is_shape_only(int(i)))) needed[size_t(node.inputs[i].node())] = true;
    }
  }
  return needed;
}

}  // namespace

std::vector<std::vector<NodeId>> lookups_of(Value loss, const std::vector<Value>& variables) {
  const Graph& graph = loss.graph();
  const std::vector<bool> needed = computed_from(loss);
  std::vector<std::vector<NodeId>> lookups(variables.size());
  std::vector<bool> otherwise(variables.size());
  std::map<std::pair<NodeId, int>, size_t> places;
  for (size_t v = 0; v < variables.size(); ++v) places.emplace(std::pair(variables[v].node(), variables[v].output()), v);
  for (NodeId id = 0; id <= loss.node(); ++id) {
    const Node& node = graph.node(id);
    const OpDef* op = graph.catalogue().find(node.op);
    for (size_t i = 0; needed[size_t(id)] && i < node.inputs.size(); ++i) {
      const auto at = places.find({node.inputs[i].node(), node.inputs[i].output()});
      if (at == places.end() || op->stops_gradient || op->is_shape_only(int(i))) continue;
      const size_t v = at->second;
      if (i == 0 && op->looks_up_rows && op->looks_up_rows(node.attributes)) {
        lookups[v].push_back(id);
      } else {
        otherwise[v] = true;
      }
    }
  }
  for (size_t v = 0; v < variables.size(); ++v) {
    if (otherwise[v] || variables[v].node() == loss.node()) lookups[v].clear();
  }
  return lookups;
}

}  // namespace shoal::nn
