// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/passes.h"

#include <map>
#include <optional>

#include "canonical.h"
#include "replacements.h"
#include "shoal/graph/source.h"

namespace shoal {
namespace {

FlowNode flow_node(const Graph& graph, const Node& node) {
  FlowNode result{.node = {.op = node.op, .name = node.name, .attributes = node.attributes, .outputs = node.outputs},
                  .op = graph.catalogue().find(node.op),
                  .inputs = {},
                  .input_types = {}};
  result.node.constant = node.constant;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& input = node.inputs[i];
    result.input_types.push_back(input.type());
    const bool contents = !result.op->is_shape_only(int(i));
    result.inputs.push_back(contents ? FlowValue{input.node(), input.output()} : FlowValue{});
  }
  return result;
}

}  // namespace

Result<Flow> extract(const Graph& graph, const std::vector<Value>& fetches, const std::vector<Value>& updates,
                     const std::vector<std::string>& kept) {
  Flow flow;
  for (const Node& node : graph.nodes()) flow.nodes.push_back(flow_node(graph, node));
  auto take = [&](const std::vector<Value>& values, std::vector<FlowValue>& to, const char* what) -> Result<void> {
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i].valid() || &values[i].graph() != &graph) {
        return invalid_argument(std::string(what) + " " + std::to_string(i) +
                                " is an invalid Value or belongs to another graph");
      }
      to.push_back({values[i].node(), values[i].output()});
    }
    return {};
  };
  SHOAL_TRY_VOID(take(fetches, flow.fetches, "fetch"));
  SHOAL_TRY_VOID(take(updates, flow.updates, "update"));
  for (const std::string& name : kept) {
    const Variable* const variable = graph.find_variable(name);
    if (!variable) return not_found("the graph has no variable \"" + name + "\"");
    flow.kept.push_back({variable->node, 0});
  }
  prune(flow);
  return flow;
}

void prune(Flow& flow) {
  std::vector<bool> needed(flow.nodes.size());
  for (const FlowValue& value : flow.fetches) needed[size_t(value.node)] = true;
  for (const FlowValue& value : flow.updates) needed[size_t(value.node)] = true;
  for (const FlowValue& value : flow.kept) needed[size_t(value.node)] = true;
  for (size_t id = flow.nodes.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (const FlowValue& input : flow.nodes[id].inputs) {
      if (input.node >= 0) needed[size_t(input.node)] = true;
    }
  }
  std::vector<int32_t> moved(flow.nodes.size(), -1);
  std::vector<FlowNode> kept;
  auto move = [&moved](FlowValue& value) {
    if (value.node >= 0) value.node = moved[size_t(value.node)];
  };
  for (size_t id = 0; id < flow.nodes.size(); ++id) {
    if (!needed[id]) continue;
    moved[id] = int32_t(kept.size());
    kept.push_back(std::move(flow.nodes[id]));
    for (FlowValue& input : kept.back().inputs) move(input);
  }
  flow.nodes = std::move(kept);
  for (FlowValue& value : flow.fetches) move(value);
  for (FlowValue& value : flow.updates) move(value);
  for (FlowValue& value : flow.kept) move(value);
}

void merge_equal_nodes(Flow& flow) {
  Replacements replacements(flow);
  std::map<std::string, int32_t> first;
  for (int32_t id = 0; id < int32_t(flow.nodes.size()); ++id) {
    FlowNode& node = flow.nodes[size_t(id)];
    replacements.apply(node);
    const Source source = source_of(node.node.op);
    if (is_named(source)) continue;
    Canonical key;
    key.put(node.node.op);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      key.put(node.inputs[i].node);
      key.put(node.inputs[i].output);
      key.put(node.input_types[i]);
    }
    key.put(node.node.attributes);
    for (const ValueType& type : node.node.outputs) key.put(type);
    if (source == Source::kConstant) key.put(node.node.constant);
    const auto [found, fresh] = first.emplace(key.bytes(), id);
    if (fresh) continue;
    for (int32_t output = 0; output < int32_t(node.node.outputs.size()); ++output) {
      replacements.replace({id, output}, {found->second, output});
    }
  }
  replacements.finish(flow);
  prune(flow);
}

namespace {

/// The result of an op whose operands are constants of one element; nothing if the op cannot be computed in advance.
std::optional<float> constant_result(const Flow& flow, const FlowNode& node) {
  if (!node.op->rewrites.of_constants) return std::nullopt;
  std::vector<float> operands;
  for (const FlowValue& input : node.inputs) {
    if (input.node < 0) return std::nullopt;
    const Node& operand = flow.nodes[size_t(input.node)].node;
    if (source_of(operand.op) != Source::kConstant) return std::nullopt;
    const Tensor& constant = operand.constant;
    if (constant.dtype() != DType::kFloat32 || constant.elements() != 1) return std::nullopt;
    operands.push_back(constant.as<float>()[0]);
  }
  return node.op->rewrites.of_constants(operands, node.node.attributes);
}

void make_constant(FlowNode& node, Tensor value) {
  node.node.op = op_of(Source::kConstant);
  node.node.attributes = {};
  node.node.constant = std::move(value);
  node.op = nullptr;
  node.inputs.clear();
  node.input_types.clear();
}

bool changes_nothing(const Flow& flow, const FlowNode& node) {
  if (node.inputs.empty() || node.inputs[0].node < 0 || node.op->barrier) return false;
  const FlowNode& producer = flow.nodes[size_t(node.inputs[0].node)];
  const Rewrites& rewrites = node.op->rewrites;
  if (rewrites.idempotent && producer.op == node.op && producer.node.attributes == node.node.attributes) return true;
  const bool copies = node.op->view || (rewrites.changes_nothing && rewrites.changes_nothing(node.node.attributes));
  return copies && node.node.outputs[0] == flow.type(node.inputs[0]);
}

void fold_view(const Flow& flow, FlowNode& node) {
  const FlowNode& source = flow.nodes[size_t(node.inputs[0].node)];
  if (source.op && source.op->view && !source.op->barrier) {
    node.inputs[0] = source.inputs[0];
    node.input_types[0] = source.input_types[0];
  } else if (source_of(source.node.op) == Source::kConstant && node.node.outputs[0].shape.is_fixed()) {
    const Shape shape = node.node.outputs[0].shape.resolve({}).value();
    make_constant(node, source.node.constant.reshaped(shape));
  }
}

}  // namespace

void fold(Flow& flow) {
  Replacements replacements(flow);
  for (int32_t id = 0; id < int32_t(flow.nodes.size()); ++id) {
    FlowNode& node = flow.nodes[size_t(id)];
    if (!node.op) continue;
    replacements.apply(node);
    if (node.op->view && !node.op->barrier) fold_view(flow, node);
    if (!node.op) continue;  // fold_view() turned the node into a constant.
    if (changes_nothing(flow, node)) {
      replacements.replace({id, 0}, node.inputs[0]);
    } else if (const auto value = constant_result(flow, node)) {
      make_constant(node, Tensor::of<float>(node.node.outputs[0].shape.resolve({}).value(), {*value}));
    }
  }
  replacements.finish(flow);
  prune(flow);
}

Result<Flow> simplify(const Graph& graph, const std::vector<Value>& fetches, const std::vector<Value>& updates,
                      const std::vector<std::string>& kept) {
  SHOAL_TRY(Flow flow, extract(graph, fetches, updates, kept));
  merge_equal_nodes(flow);
  fold(flow);
  merge_equal_nodes(flow);  // Again: fold() has removed views and factors of 1, so more nodes may be equal.
  pool_before_relu(flow);
  fuse_activations(flow);
  fuse_gradients(flow);
  return flow;
}

}  // namespace shoal
