// SPDX-License-Identifier: Apache-2.0
/// Passes over a graph's nodes that let one node do the work of two, or exchange two nodes. The Rewrites of an op (op.h)
/// say what a pass may do with its nodes.
#include <map>
#include <optional>

#include "replacements.h"
#include "shoal/base/forever.h"

namespace shoal {
namespace {

/// Maps each value of a flow to the nodes that read it.
class Readers {
 public:
  static constexpr int32_t kOutside = -1;  ///< Stands for a reader that is no node: a fetch or an update.

  explicit Readers(const Flow& flow) {
    for (int32_t id = 0; id < int32_t(flow.nodes.size()); ++id) {
      for (const FlowValue& input : flow.nodes[size_t(id)].inputs) readers_[key(input)].push_back(id);
    }
    for (const FlowValue& value : flow.fetches) readers_[key(value)].push_back(kOutside);
    for (const FlowValue& value : flow.updates) readers_[key(value)].push_back(kOutside);
  }
  /// The nodes that read `value`, once for each operand, then kOutside once for each fetch or update.
  const std::vector<int32_t>& of(FlowValue value) const {
    static const auto& none = forever(std::vector<int32_t>{});
    const auto found = readers_.find(key(value));
    return found == readers_.end() ? none : found->second;
  }
  bool one(FlowValue value) const { return of(value).size() == 1; }
  /// Records that `value` replaces `other`: the readers of `other` now read `value`.
  void take_over(FlowValue value, FlowValue other) { readers_[key(value)] = of(other); }

 private:
  static std::pair<int32_t, int32_t> key(FlowValue value) { return {value.node, value.output}; }
  std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> readers_;
};

const Rewrites& rewrites_of(const FlowNode& node) {
  static const auto& none = forever(Rewrites{});
  return node.op ? node.op->rewrites : none;
}

/// True if the node could apply an activation to its output 0, but applies none.
bool lacks_activation(const FlowNode& node) {
  return !rewrites_of(node).takes_activation.empty() && node.node.attributes.get_string("activation") == "none";
}

/// Tests whether the node that computes one operand of `addition` could also do the addition. If so, returns the other
/// operand, and sets `result` to the output of that node.
std::optional<FlowValue> addend_of(const Flow& flow, const Readers& readers, const FlowNode& addition, FlowValue* result) {
  for (size_t side : {size_t(0), size_t(1)}) {
    const FlowValue sum = addition.inputs[side], addend = addition.inputs[1 - side];
    const FlowNode& producer = flow.nodes[size_t(sum.node)];
    const bool free =
        rewrites_of(producer).addend == int(producer.inputs.size()) && sum.output == 0 && lacks_activation(producer);
    if (!free || !readers.one(sum) || addend.node >= sum.node || flow.type(sum) != flow.type(addend)) continue;
    *result = sum;
    return addend;
  }
  return std::nullopt;
}

/// If a max pool changes places with the relu before it, their gradients have to change places, too. Returns the nodes of
/// these gradients in pairs: a node that computes the pool's gradient (spreads_to_maxima), and the node after it that
/// computes the relu's gradient (mask). Returns nothing if the exchange is impossible because other nodes read the relu's
/// result or the positions of the maxima. Any node may read the pooled values.
std::optional<std::vector<std::pair<int32_t, int32_t>>> ways_back(const Flow& flow, const Readers& readers, int32_t relu,
                                                                  int32_t pool) {
  std::vector<std::pair<int32_t, int32_t>> ways;
  for (const int32_t back : readers.of({pool, 1})) {
    if (back == Readers::kOutside || !rewrites_of(flow.nodes[size_t(back)]).spreads_to_maxima) return std::nullopt;
    const int32_t reader = readers.one({back, 0}) ? readers.of({back, 0}).front() : Readers::kOutside;
    if (reader == Readers::kOutside) return std::nullopt;
    const FlowNode& mask = flow.nodes[size_t(reader)];
    const bool masks_it =
        rewrites_of(mask).mask && mask.inputs[0] == FlowValue{back, 0} && mask.inputs[1] == FlowValue{relu, 0};
    if (!masks_it) return std::nullopt;
    ways.emplace_back(back, reader);
  }
  // The relu's result is needed as it is if any node reads it besides the pool and the mask nodes in `ways`.
  if (readers.of({relu, 0}).size() != 1 + ways.size()) return std::nullopt;
  return ways;
}

/// Exchanges two nodes, where output 0 of the first is operand 0 of the second. The caller corrects the types.
void exchange(Flow& flow, int32_t first, int32_t second) {
  FlowNode &early = flow.nodes[size_t(first)], &late = flow.nodes[size_t(second)];
  std::swap(early, late);
  std::swap(early.inputs[0], late.inputs[0]);
}

}  // namespace

void pool_before_relu(Flow& flow) {
  Readers readers(flow);
  for (int32_t pool = 0; pool < int32_t(flow.nodes.size()); ++pool) {
    if (!rewrites_of(flow.nodes[size_t(pool)]).takes_maxima) continue;
    const int32_t relu = flow.nodes[size_t(pool)].inputs[0].node;
    if (!rewrites_of(flow.nodes[size_t(relu)]).after_maxima) continue;
    const auto ways = ways_back(flow, readers, relu, pool);
    if (!ways) continue;
    // Swaps the contents of the two nodes: the node with index `relu` becomes the pool, and the node with index `pool` the
    // relu that follows it. So nodes that read the pooled values from index `pool` get them after the relu, as before.
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
    const Rewrites& rewrites = rewrites_of(node);
    if (rewrites.addition) {
      const auto addend = addend_of(flow, readers, node, &result);
      if (!addend) continue;
      FlowNode& producer = flow.nodes[size_t(result.node)];
      producer.inputs.push_back(*addend);
      producer.input_types.push_back(flow.type(*addend));
    } else if (!rewrites.activation.empty()) {
      result = node.inputs[0];
      FlowNode& producer = flow.nodes[size_t(result.node)];
      const bool takes_it = rewrites_of(producer).takes_activation == rewrites.activation && lacks_activation(producer);
      if (result.output != 0 || !takes_it || !readers.one(result)) continue;
      producer.node.attributes.set("activation", std::string(rewrites.activation));
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
    if (rewrites_of(node).masked_by != int(node.inputs.size())) continue;
    const FlowValue dy = node.inputs[0];
    const FlowNode& producer = flow.nodes[size_t(dy.node)];
    if (!rewrites_of(producer).mask || !readers.one(dy)) continue;
    node.inputs[0] = producer.inputs[0];
    node.inputs.push_back(producer.inputs[1]);
    node.input_types.push_back(producer.input_types[1]);
  }
  prune(flow);
}

}  // namespace shoal
