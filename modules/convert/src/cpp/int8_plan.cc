// SPDX-License-Identifier: Apache-2.0
#include "cpp/int8_plan.h"

#include <algorithm>
#include <cmath>

#include "cpp/op_writer.h"
#include "shoal/backends/backend.h"
#include "shoal/base/finite.h"
#include "shoal/graph/op.h"
#include "shoal/graph/source.h"

namespace shoal::convert::cpp {
namespace {

bool is_layer(const Graph& graph, const Node& node) {
  if (node.op != "dense" && node.op != "conv2d") return false;
  constexpr int64_t kProductsMax = 60000;  // The sum of this many products and a bias fits into 32 bits.
  const Shape kernel = node.inputs[1].shape().resolve({}).value_or(Shape{1, kProductsMax + 1});
  if (kernel.elements() / kernel[0] > kProductsMax) return false;
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](const Value& value) { return is_known_value(graph, value); });
}

/// True for ops whose eight-bit result has the scale of their operand.
bool passes_scale(const Node& node) { return node.op == "max_pool" || node.op == "avg_pool" || node.op == "relu"; }

}  // namespace

Int8Plan::Int8Plan(const Graph& graph, const std::vector<Value>& outputs) : graph_(graph) {
  const std::vector<NodeId> nodes = computed_nodes(graph, outputs);
  find_layers(nodes, outputs);
  find_readers(nodes);
}

const Int8Layer* Int8Plan::layer_at(NodeId last) const {
  const auto found = layers_.find(last);
  return found == layers_.end() ? nullptr : &found->second;
}

void Int8Plan::find_layers(const std::vector<NodeId>& nodes, const std::vector<Value>& outputs) {
  std::map<Place, std::vector<NodeId>> readers;
  for (const NodeId id : nodes) {
    for (const Value& input : graph_.node(id).inputs) readers[place_of(input)].push_back(id);
  }
  for (const Value& output : outputs) readers[place_of(output)].push_back(-1);
  // Returns the node that reads `value` as its input 0, if nothing else reads `value`; else -1.
  const auto only_reader = [&](const Value& value) {
    const std::vector<NodeId>& all = readers[place_of(value)];
    const bool fits = all.size() == 1 && all[0] >= 0 && graph_.node(all[0]).inputs[0] == value;
    return fits ? all[0] : NodeId(-1);
  };
  for (const NodeId id : nodes) {
    if (!is_layer(graph_, graph_.node(id))) continue;
    Graph* const graph = &graph_.node(id).inputs[0].graph();
    Int8Layer layer{.head = id, .relu = has_fused_relu(graph_.node(id)), .result = Value(graph, id, 0)};
    NodeId last = id, next = only_reader(layer.result);
    // The weights cannot take in a normalization that follows a relu.
    if (next >= 0 && !layer.relu && graph_.node(next).op == "batch_norm_inference") {
      const auto& inputs = graph_.node(next).inputs;
      if (std::all_of(inputs.begin() + 1, inputs.end(),
                      [&](const Value& value) { return is_known_value(graph_, value); })) {
        inside_.insert(last);
        layer.norm = last = next;
        layer.relu = has_fused_relu(graph_.node(last));
        next = only_reader(Value(graph, last, 0));
      }
    }
    if (next >= 0 && graph_.node(next).op == "relu") {
      inside_.insert(last);
      layer.relu = true;
      last = next;
    }
    layer.result = Value(graph, last, 0);
    layers_.emplace(last, layer);
  }
}

void Int8Plan::find_readers(const std::vector<NodeId>& nodes) {
  const auto read_by = [&](NodeId reader, const Value& input) {
    const Value root = root_of(graph_, input);
    reads_.insert(reader);
    read_.insert(place_of(root));
    const NodeId node = root.node();
    const bool passes = passes_scale(graph_.node(node)) && !layers_.contains(node);
    const bool is_ranged = std::find(ranged_.begin(), ranged_.end(), root) != ranged_.end();
    if (!passes && !is_ranged) ranged_.push_back(root);
  };
  // Goes backwards, so that each node comes before the nodes whose values it reads.
  for (size_t i = nodes.size(); i-- > 0;) {
    const NodeId id = nodes[i];
    if (inside_.contains(id)) continue;
    if (const Int8Layer* const layer = layer_at(id)) {
      read_by(id, graph_.node(layer->head).inputs[0]);
    } else if (passes_scale(graph_.node(id)) && read_.contains({id, 0})) {
      read_by(id, graph_.node(id).inputs[0]);
    }
  }
}

namespace {

/// Widens the ranges so that they contain the results of one example. `seen`: which ranges have seen a finite number.
void widen(std::span<const TensorView> results, std::vector<Int8Range>& ranges, std::vector<bool>& seen) {
  for (size_t i = 0; i < results.size(); ++i) {
    for (const float value : results[i].as<float>()) {
      if (!is_finite(value)) continue;
      seen[i] = true;
      ranges[i].low = std::min(ranges[i].low, value);
      ranges[i].high = std::max(ranges[i].high, value);
    }
  }
}

}  // namespace

Result<std::vector<Int8Range>> ranges_of(const TrainedModel& model, const std::vector<Value>& values,
                                         const SymbolSizes& sizes, const Calibration& calibration) {
  if (calibration.examples.empty())
    return invalid_argument("int8 needs examples, from which it takes the ranges of activations");
  std::vector<Int8Range> ranges;
  for (const Value& value : values) ranges.push_back({model.graph->node(value.node()).name, 0, 0});
  if (values.empty()) return ranges;
  SHOAL_TRY(const auto backend, backends::make_backend("portable"));
  SHOAL_TRY(const auto program, backend->compile(*model.graph, {.sizes = sizes, .fetches = values}));
  std::vector<backends::Piece> whole;
  for (const auto& binding : program->info().variables) {
    const int64_t rows = binding.shape.rank() == 0 ? 1 : binding.shape[0];
    whole.push_back({model.weights(*model.graph->find_variable(binding.name)).data(), 0, rows});
  }
  std::vector<bool> seen(ranges.size());
  std::vector<backends::Pieces> variables;
  for (const backends::Piece& piece : whole) variables.emplace_back(&piece, 1);
  for (size_t i = 0; i < calibration.examples.size(); ++i) {
    std::vector<TensorView> inputs;
    for (const auto& binding : program->info().inputs) {
      const auto found = calibration.examples[i].find(binding.name);
      if (found == calibration.examples[i].end()) {
        return invalid_argument("example " + std::to_string(i) + " for int8 has no input \"" + binding.name + "\"");
      }
      const Tensor& tensor = found->second;
      if (tensor.dtype() != binding.dtype || !(tensor.shape() == binding.shape)) {
        return invalid_argument("example " + std::to_string(i) + " for int8: input \"" + binding.name + "\" is " +
                                std::string(to_string(tensor.dtype())) + " " + to_string(tensor.shape()) + ", expected " +
                                std::string(to_string(binding.dtype)) + " " + to_string(binding.shape));
      }
      inputs.push_back(tensor.view());
    }
    SHOAL_TRY_VOID(program->run({.inputs = inputs, .variables = variables, .updates = {}}));
    widen(program->fetched(), ranges, seen);
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (seen[i]) continue;
    return invalid_argument("int8: the values of \"" + ranges[i].name +
                            "\" are NaN or infinity in all examples, so these examples cannot calibrate it");
  }
  return ranges;
}

Int8Scale scale_of(const Int8Range& range) {
  // In double, since the difference of two floats may be beyond float32.
  const auto scale = float((double(range.high) - double(range.low)) / 255.0);
  if (!(scale > 0)) return {};
  return {scale, int32_t(std::clamp(std::round(-128.0 - double(range.low) / double(scale)), -128.0, 127.0))};
}

}  // namespace shoal::convert::cpp
