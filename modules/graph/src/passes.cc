#include "shoal/graph/passes.h"

#include <map>
#include <optional>

#include "canonical.h"

namespace shoal {
namespace {

/// Replaces values by earlier ones in one sweep: visit nodes in order, apply() first, replace() as wanted.
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

Result<Flow> extract(const Graph& graph, const std::vector<Value>& fetches, const std::vector<Value>& updates) {
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
  prune(flow);
  return flow;
}

void prune(Flow& flow) {
  std::vector<bool> needed(flow.nodes.size());
  for (const FlowValue& value : flow.fetches) needed[size_t(value.node)] = true;
  for (const FlowValue& value : flow.updates) needed[size_t(value.node)] = true;
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
}

void merge_equal_nodes(Flow& flow) {
  Replacements replacements(flow);
  std::map<std::string, int32_t> first;
  for (int32_t id = 0; id < int32_t(flow.nodes.size()); ++id) {
    FlowNode& node = flow.nodes[size_t(id)];
    replacements.apply(node);
    if (node.node.op == "input" || node.node.op == "variable") continue;
    Canonical key;
    key.put(node.node.op);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      key.put(node.inputs[i].node);
      key.put(node.inputs[i].output);
      key.put(node.input_types[i]);
    }
    key.put(node.node.attributes);
    for (const ValueType& type : node.node.outputs) key.put(type);
    if (node.node.op == "constant") key.put(node.node.constant);
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

/// The result of an op on constants of one element, exactly as any backend computes it: one rounding to float32.
std::optional<float> constant_result(const Flow& flow, const FlowNode& node) {
  std::vector<float> operands;
  for (const FlowValue& input : node.inputs) {
    if (input.node < 0 || flow.nodes[size_t(input.node)].node.op != "constant") return std::nullopt;
    const Tensor& constant = flow.nodes[size_t(input.node)].node.constant;
    if (constant.dtype() != DType::kFloat32 || constant.elements() != 1) return std::nullopt;
    operands.push_back(constant.as<float>()[0]);
  }
  const std::string& op = node.node.op;
  if (op == "add") return operands[0] + operands[1];
  if (op == "sub") return operands[0] - operands[1];
  if (op == "mul") return operands[0] * operands[1];
  if (op == "div") return operands[0] / operands[1];
  if (op == "square") return operands[0] * operands[0];
  if (op == "scale") return operands[0] * float(node.node.attributes.get_real("factor"));
  return std::nullopt;
}

void make_constant(FlowNode& node, Tensor value) {
  node.node.op = "constant";
  node.node.attributes = {};
  node.node.constant = std::move(value);
  node.op = nullptr;
  node.inputs.clear();
  node.input_types.clear();
}

bool changes_nothing(const Flow& flow, const FlowNode& node) {
  if (node.op->view) return node.node.outputs[0] == flow.type(node.inputs[0]);
  const std::string& op = node.node.op;
  if (op == "scale") return node.node.attributes.get_real("factor") == 1.0;
  if (op == "sum_like" || op == "broadcast_like") return node.node.outputs[0] == flow.type(node.inputs[0]);
  return op == "relu" && flow.nodes[size_t(node.inputs[0].node)].node.op == "relu";
}

void fold_view(const Flow& flow, FlowNode& node) {
  const FlowNode& source = flow.nodes[size_t(node.inputs[0].node)];
  if (source.op && source.op->view) {
    node.inputs[0] = source.inputs[0];
    node.input_types[0] = source.input_types[0];
  } else if (source.node.op == "constant" && node.node.outputs[0].shape.is_fixed()) {
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
    if (node.op->view) fold_view(flow, node);
    if (!node.op) continue;  // became a constant
    if (changes_nothing(flow, node)) {
      replacements.replace({id, 0}, node.inputs[0]);
    } else if (const auto value = constant_result(flow, node)) {
      make_constant(node, Tensor::of<float>(node.node.outputs[0].shape.resolve({}).value(), {*value}));
    }
  }
  replacements.finish(flow);
  prune(flow);
}

namespace {

/// Who reads each value.
class Readers {
 public:
  static constexpr int32_t kOutside = -1;  ///< a fetch or an update

  explicit Readers(const Flow& flow) {
    for (int32_t id = 0; id < int32_t(flow.nodes.size()); ++id) {
      for (const FlowValue& input : flow.nodes[size_t(id)].inputs) readers_[key(input)].push_back(id);
    }
    for (const FlowValue& value : flow.fetches) readers_[key(value)].push_back(kOutside);
    for (const FlowValue& value : flow.updates) readers_[key(value)].push_back(kOutside);
  }
  /// The nodes, once for each of their operands, then kOutside for each time.
  const std::vector<int32_t>& of(FlowValue value) const {
    static const std::vector<int32_t> none;
    const auto found = readers_.find(key(value));
    return found == readers_.end() ? none : found->second;
  }
  bool one(FlowValue value) const { return of(value).size() == 1; }
  /// `value` is now read where `other` was.
  void take_over(FlowValue value, FlowValue other) { readers_[key(value)] = of(other); }

 private:
  static std::pair<int32_t, int32_t> key(FlowValue value) { return {value.node, value.output}; }
  std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> readers_;
};

/// Its output 0 may go through a relu before it is written: the attribute "activation" is "none".
bool takes_relu(const FlowNode& node) {
  const std::string& op = node.node.op;
  const bool known = op == "dense" || op == "conv2d" || op == "batch_norm" || op == "batch_norm_inference";
  return known && node.node.attributes.get_string("activation") == "none";
}

/// The addend of an addition to the result of a batch_norm that can do it; the batch_norm's result is `result`.
std::optional<FlowValue> addend_of(const Flow& flow, const Readers& readers, const FlowNode& addition, FlowValue* result) {
  for (size_t side : {size_t(0), size_t(1)}) {
    const FlowValue sum = addition.inputs[side], addend = addition.inputs[1 - side];
    const FlowNode& producer = flow.nodes[size_t(sum.node)];
    const bool free =
        producer.node.op == "batch_norm" && sum.output == 0 && producer.inputs.size() == 3 && takes_relu(producer);
    if (!free || !readers.one(sum) || addend.node >= sum.node || flow.type(sum) != flow.type(addend)) continue;
    *result = sum;
    return addend;
  }
  return std::nullopt;
}

/// The pairs (max_pool_grad, relu_grad) through which gradients go back over a relu and the max_pool of its result;
/// nothing if either node's results are used in any other way, but for the pooled values.
std::optional<std::vector<std::pair<int32_t, int32_t>>> ways_back(const Flow& flow, const Readers& readers, int32_t relu,
                                                                  int32_t pool) {
  std::vector<std::pair<int32_t, int32_t>> ways;
  for (const int32_t back : readers.of({pool, 1})) {
    if (back == Readers::kOutside || flow.nodes[size_t(back)].node.op != "max_pool_grad") return std::nullopt;
    const int32_t reader = readers.one({back, 0}) ? readers.of({back, 0}).front() : Readers::kOutside;
    if (reader == Readers::kOutside) return std::nullopt;
    const FlowNode& mask = flow.nodes[size_t(reader)];
    const bool masks_it =
        mask.node.op == "relu_grad" && mask.inputs[0] == FlowValue{back, 0} && mask.inputs[1] == FlowValue{relu, 0};
    if (!masks_it) return std::nullopt;
    ways.emplace_back(back, reader);
  }
  if (readers.of({relu, 0}).size() != 1 + ways.size()) return std::nullopt;  // more than the pool and the masks
  return ways;
}

/// Two nodes, of which the first's output 0 is the second's operand 0, change places; types are left to the caller.
void exchange(Flow& flow, int32_t first, int32_t second) {
  FlowNode &early = flow.nodes[size_t(first)], &late = flow.nodes[size_t(second)];
  std::swap(early, late);
  std::swap(early.inputs[0], late.inputs[0]);
}

}  // namespace

void pool_before_relu(Flow& flow) {
  Readers readers(flow);
  for (int32_t pool = 0; pool < int32_t(flow.nodes.size()); ++pool) {
    if (flow.nodes[size_t(pool)].node.op != "max_pool") continue;
    const int32_t relu = flow.nodes[size_t(pool)].inputs[0].node;
    if (flow.nodes[size_t(relu)].node.op != "relu") continue;
    const auto ways = ways_back(flow, readers, relu, pool);
    if (!ways) continue;
    // The pool is now node `relu` and the relu node `pool`; who read the pooled values reads them there, after the relu.
    exchange(flow, relu, pool);
    FlowNode& activation = flow.nodes[size_t(pool)];
    const ValueType pooled = flow.type({relu, 0});
    activation.input_types[0] = activation.node.outputs[0] = pooled;
    for (const auto& [back, mask] : *ways) {
      exchange(flow, back, mask);
      FlowNode &masking = flow.nodes[size_t(back)], &spreading = flow.nodes[size_t(mask)];
      masking.inputs[1] = {pool, 0};
      masking.input_types = {pooled, pooled};
      masking.node.outputs = {pooled};
      spreading.inputs[1] = {relu, 1};
      spreading.input_types[0] = pooled;
    }
    readers = Readers(flow);
  }
}

void fuse_activations(Flow& flow) {
  Readers readers(flow);
  Replacements replacements(flow);
  for (int32_t id = 0; id < int32_t(flow.nodes.size()); ++id) {
    FlowNode& node = flow.nodes[size_t(id)];
    replacements.apply(node);
    FlowValue result;
    if (node.node.op == "add") {
      const auto addend = addend_of(flow, readers, node, &result);
      if (!addend) continue;
      FlowNode& producer = flow.nodes[size_t(result.node)];
      producer.inputs.push_back(*addend);
      producer.input_types.push_back(flow.type(*addend));
    } else if (node.node.op == "relu") {
      result = node.inputs[0];
      FlowNode& producer = flow.nodes[size_t(result.node)];
      if (result.output != 0 || !takes_relu(producer) || !readers.one(result)) continue;
      producer.node.attributes.set("activation", std::string("relu"));
    } else {
      continue;
    }
    replacements.replace({id, 0}, result);
    readers.take_over(result, {id, 0});
  }
  replacements.finish(flow);
  prune(flow);
}

void fuse_gradients(Flow& flow) {
  const Readers readers(flow);
  for (FlowNode& node : flow.nodes) {
    if (node.node.op != "batch_norm_grad" || node.inputs.size() != 5) continue;
    const FlowValue dy = node.inputs[0];
    const FlowNode& producer = flow.nodes[size_t(dy.node)];
    if (producer.node.op != "relu_grad" || !readers.one(dy)) continue;
    node.inputs[0] = producer.inputs[0];
    node.inputs.push_back(producer.inputs[1]);
    node.input_types.push_back(producer.input_types[1]);
  }
  prune(flow);
}

Result<Flow> simplify(const Graph& graph, const std::vector<Value>& fetches, const std::vector<Value>& updates) {
  SHOAL_TRY(Flow flow, extract(graph, fetches, updates));
  merge_equal_nodes(flow);
  fold(flow);
  merge_equal_nodes(flow);  // folding makes equal what differed by a view or a factor of 1
  pool_before_relu(flow);
  fuse_activations(flow);
  fuse_gradients(flow);
  return flow;
}

}  // namespace shoal
