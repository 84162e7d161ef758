// SPDX-License-Identifier: Apache-2.0
/// Reverse mode: one sweep from the loss back to what it depends on.
#include <map>
#include <utility>

#include "shape_rules.h"
#include "shoal/graph/op.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace {

using Output = std::pair<NodeId, int>;
using rules::describe;

/// Which values lie between `wrt` and the loss. Gradients flow through float32 only.
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
  /// Whether the gradient of this operand leads on to a target.
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

class Sweep {
 public:
  Sweep(Value loss, const std::vector<Value>& wrt) : graph_(loss.graph()), paths_(graph_, loss.node(), wrt) {
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
    GradientRequest request{.graph = graph_, .node = node, .outputs = {}, .output_gradients = {}, .wanted = {}};
    bool any = false;
    for (int i = 0; i < int(node.outputs.size()); ++i) {
      request.outputs.emplace_back(&graph_, id, i);
      request.output_gradients.push_back(gradient(request.outputs.back()));
      any = any || request.output_gradients.back().valid();
    }
    if (!any) return;
    for (int i = 0; i < int(node.inputs.size()); ++i) request.wanted.push_back(paths_.carries(node, i));
    const OpDef* op = graph_.catalogue().find(node.op);
    if (!op || !op->gradient) {
      raise(
          invalid_argument(node.op + " \"" + node.name +
                           "\": the loss depends on a variable through this op, which has no gradient; give it one, or put "
                           "ops::stop_gradient() around it where none is meant"));
    }
    accumulate(request, op->gradient(request));
  }

  void accumulate(const GradientRequest& request, const std::vector<Value>& results) {
    const Node& node = request.node;
    auto refuse = [&node](const std::string& what) {
      raise(invalid_argument(node.op + " \"" + node.name + "\": its gradient rule gave " + what));
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
