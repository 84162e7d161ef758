// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a backend compiles: the part of a graph that some fetches and updates need, simplified. The graph itself stays as
/// it was built. No pass changes a bit of any value, but for the sign of a zero where a max_pool comes before its relu.
#include <vector>

#include "shoal/graph/graph.h"
#include "shoal/graph/op.h"

namespace shoal {

/// One output of one node of a Flow. node -1: none (an operand of which only the shape is used).
struct FlowValue {
  int32_t node = -1;
  int32_t output = 0;
  friend bool operator==(const FlowValue&, const FlowValue&) = default;
};

struct FlowNode {
  /// Op, name, attributes, outputs, constant. Its `inputs` are empty, see below.
  Node node;
  const OpDef* op;  ///< The op in the graph's catalogue. Null for sources.
  std::vector<FlowValue> inputs;
  std::vector<ValueType> input_types;
};

/// Nodes in topological order, and what is wanted of them.
struct Flow {
  std::vector<FlowNode> nodes;
  std::vector<FlowValue> fetches;
  std::vector<FlowValue> updates;
  std::vector<FlowValue> kept;  ///< Variables that stay though nothing reads them.

  const ValueType& type(FlowValue value) const { return nodes[size_t(value.node)].node.outputs[size_t(value.output)]; }
};

/// The part of `graph` that these values need, and the variables `kept` (full names). InvalidArgument for a value that is
/// invalid or of another graph, NotFound for a variable that is not there.
Result<Flow> extract(const Graph& graph, const std::vector<Value>& fetches, const std::vector<Value>& updates,
                     const std::vector<std::string>& kept = {});

/// Drops nodes that nothing needs.
void prune(Flow& flow);
/// Keeps the first of equal nodes (op, operands, attributes, constant bytes).
void merge_equal_nodes(Flow& flow);
/// Drops what does nothing (x * 1, a view of the same shape, a sum over no axis, relu of relu, views of views), and
/// computes + - * / of constants of one element.
void fold(Flow& flow);
/// Makes relu(max_pool(x)) of max_pool(relu(x)), and the like of the gradients back through both: the same values,
/// since both orders pick the same elements or zero, at a quarter of the relu's cost (2x2 windows); and the larger
/// image is not kept for the gradient. Only where nothing else reads what changes.
void pool_before_relu(Flow& flow);
/// Lets dense, conv2d and batch_norm apply a relu that is the only use of their result (attribute "activation"), and
/// batch_norm an addition before it (a fourth input).
void fuse_activations(Flow& flow);
/// Lets batch_norm_grad undo a fused relu itself, where nothing else needs the gradient in between (a sixth input).
void fuse_gradients(Flow& flow);

/// Calls extract() and all passes.
Result<Flow> simplify(const Graph& graph, const std::vector<Value>& fetches, const std::vector<Value>& updates,
                      const std::vector<std::string>& kept = {});

}  // namespace shoal
