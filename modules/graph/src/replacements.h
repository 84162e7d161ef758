// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Helps passes over a graph to replace values by values of earlier nodes. A pass works on a Flow, the list of nodes in
/// topological order (passes.h).
#include <vector>

#include "shoal/graph/passes.h"

namespace shoal {

/// Records which values replace which others, and changes the operands of nodes accordingly. Use it in one pass over the
/// nodes in their order: for each node call apply() first, then replace() as needed; call finish() after the last node.
class Replacements {
 public:
  explicit Replacements(const Flow& flow) {
    for (const FlowNode& node : flow.nodes) targets_.emplace_back(node.node.outputs.size());
  }
  void replace(FlowValue value, FlowValue by) { targets_[size_t(value.node)][size_t(value.output)] = by; }
  void apply(FlowValue& value) const {
    if (value.node < 0) return;
    const FlowValue by = targets_[size_t(value.node)][size_t(value.output)];
    if (by.node >= 0) value = by;
  }
  void apply(FlowNode& node) const {
    for (FlowValue& input : node.inputs) apply(input);
  }
  void finish(Flow& flow) const {
    for (FlowValue& value : flow.fetches) apply(value);
    for (FlowValue& value : flow.updates) apply(value);
  }

 private:
  std::vector<std::vector<FlowValue>> targets_;
};

}  // namespace shoal
