// SPDX-License-Identifier: Apache-2.0
/// Reverse-mode differentiation: one sweep from the loss back to the values that it depends on.
#include <map>
#include <set>
#include <utility>

#include "shape_rules.h"
#include "shoal/graph/op.h"
#include "shoal/graph/ops.h"
#include "shoal/graph/source.h"

namespace shoal {
namespace {

using Output = std::pair<NodeId, int>;
using rules::describe;

/// Finds the values between `wrt` and the loss. Gradients flow through float32 only.
class Paths {
 public:
  Paths(const Graph& graph, NodeId last, const std::vector<Value>& wrt) : graph_(graph), node_carries_(size_t(last) + 1) {
    for (const Value& value : wrt) targets_[{value.node(), value.output()}] = true;
    for (NodeId id = 0; id <= last; ++id) {
      const Node& node = graph.node(id);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (carries(node, int(i))) node_carries_[size_t(id)] = true;
      }
    }
  }

  bool is_target(Output output) const { return targets_.contains(output); }
  bool carries(NodeId id) const { return node_carries_[size_t(id)]; }
  /// True if the gradient of this operand leads to one of the values `wrt`.
  bool carries(const Node& node, int input) const {
    const OpDef* op = graph_.catalogue().find(node.op);
    const Value& value = node.inputs[size_t(input)];
    if (value.dtype() != DType::kFloat32 || (op && (op->stops_gradient || op->is_shape_only(input)))) return false;
    return node_carries_[size_t(value.node())] || is_target({value.node(), value.output()});
  }

 private:
  const Graph& graph_;
  std::vector<bool> node_carries_;
  std::map<Output, bool> targets_;
};

/// Saves memory: the values of some parts of the graph (Graph::RecomputedPart) are not kept for the backward pass, but
/// computed again. When the backward pass reaches such a part, this class adds a copy of the part's nodes to the graph.
/// Nodes are computed in the order in which they were added, so the copies are not computed before they are needed. A value
/// that is also used outside of its part is not recomputed, since it stays in memory anyway.
///
/// Source of the method: Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost" (2016).
class Recomputation {
 public:
  explicit Recomputation(Graph& graph) : graph_(graph) {
    for (NodeId id = 0; id < NodeId(graph.nodes().size()); ++id) {
      const int part = graph.recomputed_part_of(id);
      if (part >= 0) parts_[part].push_back(id);
      for (const Value& input : graph.node(id).inputs) {
        const int of_input = graph.recomputed_part_of(input.node());
        if (of_input >= 0 && of_input != part) used_outside_.insert({input.node(), input.output()});
      }
    }
  }

  /// Called if the gradient of a node in the recomputed part `part` needs `value`. Returns the recomputed value, or `value`
  /// itself if it is not recomputed.
  Value operator()(int part, Value value) {
    if (part < 0 || !is_inner(part, value)) return value;
    if (begun_.insert(part).second) add_again(part);
    return again_.at({value.node(), value.output()});
  }

 private:
  bool is_source(Value value) const { return source_of(graph_.node(value.node()).op) != Source::kNone; }
  /// True if a node of the recomputed part `part` computes the value, and no node outside of this part reads it.
  bool is_inner(int part, Value value) const {
    return graph_.recomputed_part_of(value.node()) == part && !is_source(value) &&
           !used_outside_.contains({value.node(), value.output()});
  }

  void add_again(int part) {
    for (const NodeId id : parts_.at(part)) {
      const Node& node = graph_.node(id);
      if (source_of(node.op) != Source::kNone) continue;
      std::vector<Value> inputs;
      for (const Value& input : node.inputs) inputs.push_back(operand(part, input));
      // The attributes contain the key of the random numbers, so the new node uses the same random numbers again.
      const std::vector<Value> outputs = graph_.add(node.op, std::move(inputs), node.attributes, node.name);
      for (const Value& output : outputs) again_.emplace(Output(id, output.output()), output);
    }
  }

  /// Returns what the copy of a node reads in place of `value`. If a node of the part computes the value, this is the
  /// result of that node's copy. Values from outside of the part are read through ops::recompute_from(), so that no pass
  /// merges the copy with the equal original.
  Value operand(int part, Value value) {
    if (is_inner(part, value)) return again_.at({value.node(), value.output()});
    if (is_source(value) && source_of(graph_.node(value.node()).op) != Source::kInput) return value;
    Value& from = starts_[{part, {value.node(), value.output()}}];
    if (!from.valid()) from = ops::recompute_from(value);
    return from;
  }

  Graph& graph_;
  std::map<int, std::vector<NodeId>> parts_;
  std::set<Output> used_outside_;
  std::set<int> begun_;
  std::map<Output, Value> again_;
  std::map<std::pair<int, Output>, Value> starts_;
};

class Sweep {
 public:
  Sweep(Value loss, const std::vector<Value>& wrt)
      : graph_(loss.graph()), paths_(graph_, loss.node(), wrt), recomputation_(graph_) {
    const Shape shape = value_or_raise(loss.shape().resolve({}));
    Tensor one(DType::kFloat32, shape);
    one.mutable_as<float>()[0] = 1.0f;
    gradients_[{loss.node(), loss.output()}] = graph_.constant(std::move(one), "one");
    for (NodeId id = loss.node(); id >= 0; --id) step_back(id);
  }

  Value gradient(Value value) const {
    const auto found = gradients_.find({value.node(), value.output()});
    return found == gradients_.end() ? Value() : found->second;
  }

 private:
  void step_back(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.inputs.empty() || !paths_.carries(id)) return;
    std::vector<Value> output_gradients;
    bool any = false;
    for (int i = 0; i < int(node.outputs.size()); ++i) {
      output_gradients.push_back(gradient(Value(&graph_, id, i)));
      any = any || output_gradients.back().valid();
    }
    if (!any) return;
    const int part = graph_.recomputed_part_of(id);
    Node shown = node;
    for (Value& input : shown.inputs) input = recomputation_(part, input);
    GradientRequest request{
        .graph = graph_, .node = shown, .outputs = {}, .output_gradients = std::move(output_gradients), .wanted = {}};
    for (int i = 0; i < int(node.outputs.size()); ++i) {
      request.outputs.push_back(recomputation_(part, Value(&graph_, id, i)));
    }
    for (int i = 0; i < int(node.inputs.size()); ++i) request.wanted.push_back(paths_.carries(node, i));
    const OpDef* op = graph_.catalogue().find(node.op);
    if (!op || !op->gradient) {
      raise(
          invalid_argument(node.op + " \"" + node.name +
                           "\": the loss depends on a variable through this op, which has no gradient; give it one, or put "
                           "ops::stop_gradient() around it where none is meant"));
    }
    accumulate(node, request, op->gradient(request));
  }

  void accumulate(const Node& node, const GradientRequest& request, const std::vector<Value>& results) {
    auto refuse = [&node](const std::string& what) {
      raise(invalid_argument(node.op + " \"" + node.name + "\": its gradient rule returned " + what));
    };
    if (results.size() != node.inputs.size()) {
      refuse(std::to_string(results.size()) + " gradients for " + std::to_string(node.inputs.size()) + " operands");
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const Value input = node.inputs[i];
      if (!results[i].valid() || !request.wanted[i]) continue;
      if (&results[i].graph() != &graph_) refuse("a value of another graph for operand " + std::to_string(i));
      if (results[i].type() != input.type()) {
        refuse(describe(results[i].type()) + " for operand " + std::to_string(i) + ", which is " + describe(input.type()));
      }
      Value& sum = gradients_[{input.node(), input.output()}];
      sum = sum.valid() ? ops::add(sum, results[i]) : results[i];
    }
  }

  Graph& graph_;
  Paths paths_;
  Recomputation recomputation_;
  std::map<Output, Value> gradients_;
};

}  // namespace

std::vector<Value> gradients(Value loss, const std::vector<Value>& wrt) {
  if (!loss.valid()) raise(invalid_argument("gradients: the loss is an invalid Value"));
  const ValueType& type = loss.type();
  if (type.dtype != DType::kFloat32 || !type.shape.is_fixed() || value_or_raise(type.shape.resolve({})).elements() != 1) {
    raise(invalid_argument("gradients: the loss is " + std::string(to_string(type.dtype)) + " " + to_string(type.shape) +
                           "; it must be one float32 (take reduce_mean or reduce_sum)"));
  }
  for (const Value& value : wrt) {
    if (!value.valid() || &value.graph() != &loss.graph()) {
      raise(invalid_argument("gradients: a value to differentiate for is invalid or of another graph"));
    }
  }
  const auto scope = loss.graph().scope("gradients");
  const Sweep sweep(loss, wrt);
  std::vector<Value> result;
  for (const Value& value : wrt) result.push_back(sweep.gradient(value));
  return result;
}

}  // namespace shoal
