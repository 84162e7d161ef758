// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Passes prepare a graph for a backend's compilation: they extract the part that some fetches and updates need,
/// and simplify it in a copy. No pass changes a bit of any value, except the sign of a zero if it moves a max_pool
/// before its relu.
#include <vector>

#include "shoal/graph/graph.h"
#include "shoal/graph/op.h"

namespace shoal {

/// One output of one node of a Flow. In a list of operands, node = -1 marks an operand of which the op uses only the shape
/// (FlowNode::input_types has it), so that no node has to compute this operand.
struct FlowValue {
  int32_t node = -1;
  int32_t output = 0;
  friend bool operator==(const FlowValue&, const FlowValue&) = default;
};

struct FlowNode {
  /// The op, name, attributes, outputs and constant of the node. Its `inputs` are empty: see FlowNode::inputs.
  Node node;
  const OpDef* op;  ///< The op in the graph's catalogue. Null for sources.
  std::vector<FlowValue> inputs;
  std::vector<ValueType> input_types;
};

/// Nodes in topological order, and the values that are to be computed.
struct Flow {
  std::vector<FlowNode> nodes;
  std::vector<FlowValue> fetches;
  std::vector<FlowValue> updates;
  std::vector<FlowValue> kept;  ///< Variables that stay in the flow even if nothing reads them.

  const ValueType& type(FlowValue value) const { return nodes[size_t(value.node)].node.outputs[size_t(value.output)]; }
};

/// Extracts the part of `graph` that fetches and updates need, and the variables `kept` (full names). InvalidArgument for a
/// value that is invalid or belongs to another graph, NotFound for a variable that does not exist.
Result<Flow> extract(const Graph& graph, const std::vector<Value>& fetches, const std::vector<Value>& updates,
                     const std::vector<std::string>& kept = {});

/// Removes nodes that no fetch, update or kept variable needs.
void prune(Flow& flow);
/// Merges equal nodes (op, operands, attributes, constant bytes) into the first of them.
void merge_equal_nodes(Flow& flow);
/// Removes nodes without effect (x * 1, a view of the same shape, a sum over no axis, relu of relu, views of views), and
/// computes + - * / of constants of one element.
void fold(Flow& flow);
/// Turns max_pool(relu(x)) into relu(max_pool(x)), and the gradients of both accordingly. Both orders give the same
/// values, since they pick the same elements or zero. With 2x2 windows the relu then costs a quarter, and the larger
/// image is not kept for the gradient. The pass does so only if nothing else reads the values that change.
void pool_before_relu(Flow& flow);
/// Lets dense, conv2d and batch_norm apply a relu (attribute "activation") if nothing but the relu reads their result.
/// Lets batch_norm also do an addition before the relu; the addend becomes its fourth input.
void fuse_activations(Flow& flow);
/// Lets batch_norm_grad also do the work of the node that computes the gradient of a relu, if no other node reads that
/// gradient. The relu's result becomes input 5 of batch_norm_grad.
void fuse_gradients(Flow& flow);

/// Calls extract() and all passes.
Result<Flow> simplify(const Graph& graph, const std::vector<Value>& fetches, const std::vector<Value>& updates,
                      const std::vector<std::string>& kept = {});

}  // namespace shoal
