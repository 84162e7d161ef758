// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"

#include <algorithm>
#include <map>
#include <set>

#include "models.h"
#include "shoal/base/random.h"
#include "shoal/graph/cost.h"
#include "shoal/graph/named_inputs.h"
#include "shoal/graph/ops.h"
#include "shoal/graph/passes.h"

namespace shoal::bench {
namespace {

constexpr int64_t kBatch = 32;

std::vector<TensorView> resolved(const std::vector<ValueType>& types, const SymbolSizes& sizes) {
  std::vector<TensorView> views;
  for (const ValueType& type : types) views.push_back({type.dtype, value_or_raise(type.shape.resolve(sizes)), nullptr});
  return views;
}

KernelCase case_of(const Flow& flow, const FlowNode& node, const std::vector<TensorView>& inputs, const std::string& from) {
  KernelCase result{.op = node.node.op, .from = from, .attributes = node.node.attributes, .operands = {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int32_t source = node.inputs[i].node;
    const bool is_variable = source >= 0 && flow.nodes[size_t(source)].node.op == "variable";
    result.operands.push_back({inputs[i].dtype, inputs[i].shape, is_variable});
  }
  return result;
}

/// The case of each op that computes or moves most.
class Costliest {
 public:
  /// All nodes of a graph, simplified as a backend sees it.
  void add(const Graph& graph, const backends::CompileOptions& step, const std::string& from) {
    const Flow flow = value_or_raise(simplify(graph, step.fetches, step.updates));
    for (const FlowNode& node : flow.nodes) {
      if (!node.op || node.op->view) continue;
      const auto inputs = resolved(node.input_types, step.sizes), outputs = resolved(node.node.outputs, step.sizes);
      const NodeCost cost = cost_of(*node.op, node.node.attributes, inputs, outputs);
      Entry& best = by_op_[node.node.op];
      if (cost.flops + cost.bytes > best.cost) best = {cost.flops + cost.bytes, case_of(flow, node, inputs, from)};
    }
  }
  /// Appends the cases, but of those ops.
  void append_to(std::vector<KernelCase>& cases, const std::set<std::string>& except) {
    for (auto& [op, entry] : by_op_) {
      if (!except.contains(op)) cases.push_back(std::move(entry.kernel_case));
    }
  }

 private:
  struct Entry {
    double cost = -1;
    KernelCase kernel_case;
  };
  std::map<std::string, Entry> by_op_;
};

struct TableEntry {
  std::vector<std::string> ops;
  Attributes attributes;
  std::vector<KernelCase::Operand> operands;
};

using Ints = std::vector<int64_t>;
constexpr auto kIds = DType::kInt64;
const KernelCase::Operand kImages{DType::kFloat32, {32, 28, 28, 32}};  // The largest activation of the cnn.
const KernelCase::Operand kChannels{DType::kFloat32, {32}, true};
const KernelCase::Operand kRows{DType::kFloat32, {2048, 1000}};  // Logits of a language model.
const KernelCase::Operand kSequences{DType::kFloat32, {32, 64, 128}};
const KernelCase::Operand kLabels{kIds, {2048}};

/// What no model of bench/models does, forward; backward ops follow from it by differentiation.
const std::vector<TableEntry>& table() {
  static const std::vector<TableEntry> entries{
      {{"exp", "log", "sqrt", "rsqrt", "reciprocal", "erf", "sin", "cos", "sigmoid", "tanh", "softplus", "abs", "gelu",
        "gelu_tanh", "silu", "square", "relu"},
       {},
       {kImages}},
      {{"leaky_relu", "elu"}, {{"alpha", 0.5}}, {kImages}},
      {{"scale"}, {{"factor", 3.0}}, {kImages}},
      {{"clip"}, {{"low", 0.3}, {"high", 0.7}}, {kImages}},
      {{"dropout"}, {{"rate", 0.4}}, {kImages}},
      {{"cast"}, {{"dtype", std::string("float32")}}, {{DType::kUInt8, {32, 28, 28, 32}}}},
      {{"add", "sub", "mul", "div", "pow", "maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater",
        "greater_equal", "global_norm"},
       {},
       {kImages, kImages}},
      {{"add"}, {}, {kImages, kChannels}},
      {{"select"}, {}, {kImages, kImages, kImages}},
      {{"reduce_sum", "reduce_mean"}, {}, {kImages}},
      {{"reduce_sum", "reduce_mean", "reduce_max"}, {{"axes", Ints{0, 1, 2}}, {"keep_dims", false}}, {kImages}},
      {{"fill_like"}, {}, {{DType::kFloat32, {}}, kImages}},
      {{"broadcast_like"}, {}, {kChannels, kImages}},
      {{"sum_like"}, {}, {kImages, kChannels}},
      {{"transpose"}, {{"permutation", Ints{0, 3, 1, 2}}}, {kImages}},
      {{"concat"}, {{"axis", int64_t(3)}}, {kImages, kImages}},
      {{"split"}, {{"axis", int64_t(3)}, {"sizes", Ints{16, 16}}}, {kImages}},
      {{"slice"}, {{"begin", Ints{0, 2, 2, 0}}, {"size", Ints{32, 24, 24, 32}}, {"stride", Ints{1, 1, 1, 1}}}, {kImages}},
      {{"pad"}, {{"before", Ints{0, 2, 2, 0}}, {"after", Ints{0, 2, 2, 0}}, {"value", 0.0}}, {kImages}},
      {{"gather"}, {{"axis", int64_t(0)}}, {{DType::kFloat32, {10000, 64}, true}, kLabels}},
      {{"one_hot"}, {{"depth", int64_t(1000)}, {"on_value", 1.0}, {"off_value", 0.0}}, {kLabels}},
      {{"multi_hot"}, {{"depth", int64_t(1000)}}, {{DType::kInt64, {128, 20}}}},
      {{"check_range"}, {{"low", 0.0}, {"high", 10.0}, {"whole", false}, {"what", std::string("label")}}, {kRows}},
      {{"bag_rows"}, {{"combiner", int64_t(1)}}, {{DType::kInt64, {128, 20}}}},
      {{"bucketize"}, {{"spacing", int64_t(0)}, {"missing_id", int64_t(-1)}}, {kRows, kChannels}},
      {{"cross_ids"}, {{"buckets", int64_t(10000)}}, {{DType::kInt64, {128, 4}}, {DType::kInt64, {128, 5}}}},
      {{"default_ids"}, {{"depth", int64_t(1000)}, {"otherwise", int64_t(0)}}, {{DType::kInt64, {128, 20}}}},
      {{"top_k"}, {{"k", int64_t(5)}}, {kRows}},
      {{"argmax", "softmax", "log_softmax"}, {}, {kRows}},
      {{"softmax_cross_entropy"}, {}, {kRows, kLabels}},
      {{"sigmoid_cross_entropy"}, {}, {kRows, kRows}},
      {{"dense"},
       {{"activation", std::string("none")}},
       {{DType::kFloat32, {128, 784}}, {DType::kFloat32, {512, 784}, true}, {DType::kFloat32, {512}, true}}},
      {{"matmul"}, {{"transpose_a", false}, {"transpose_b", false}}, {kSequences, {DType::kFloat32, {32, 128, 64}}}},
      {{"matmul"}, {{"transpose_a", false}, {"transpose_b", false}}, {kSequences, {DType::kFloat32, {128, 128}, true}}},
      {{"conv2d_transpose"},
       {{"strides", Ints{2, 2}}, {"padding", Ints{1, 1, 1, 1}}, {"size", Ints{28, 28}}},
       {{DType::kFloat32, {32, 14, 14, 64}}, {DType::kFloat32, {64, 32, 4, 4}, true}}},
      {{"max_pool", "avg_pool"},
       {{"window", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"padding", Ints{0, 0, 0, 0}}},
       {kImages}},
      {{"batch_norm"}, {{"epsilon", 1e-5}, {"activation", std::string("none")}}, {kImages, kChannels, kChannels}},
      {{"batch_norm_inference"},
       {{"epsilon", 1e-5}, {"activation", std::string("none")}},
       {kImages, kChannels, kChannels, kChannels, kChannels}},
      {{"layer_norm"}, {{"epsilon", 1e-5}}, {kImages, kChannels, kChannels}},
      {{"group_norm"}, {{"epsilon", 1e-5}, {"groups", int64_t(8)}}, {kImages, kChannels, kChannels}},
      {{"lstm"},
       {{"inputs", std::string("projection recurrent_kernel")}},
       {{DType::kFloat32, {32, 64, 512}}, {DType::kFloat32, {512, 128}, true}}},
      {{"gru"},
       {{"inputs", std::string("projection recurrent_kernel")}},
       {{DType::kFloat32, {32, 64, 384}}, {DType::kFloat32, {384, 128}, true}}},
      {{"attention"},
       {{"inputs", std::string("query key value")}, {"heads", int64_t(4)}, {"causal", false}, {"scale", 0.2}},
       {kSequences, kSequences, kSequences}},
      {{"self_attention"},
       {{"inputs", std::string("projections")}, {"heads", int64_t(4)}, {"causal", true}, {"scale", 0.2}},
       {{DType::kFloat32, {32, 64, 384}}}}};
  return entries;
}

std::vector<Value> add_operands(Graph& graph, const std::vector<KernelCase::Operand>& operands) {
  std::vector<Value> values;
  for (const KernelCase::Operand& operand : operands) {
    const std::string name = "operand" + std::to_string(values.size());
    values.push_back(operand.is_variable ? graph.variable(name, operand.shape)
                                         : graph.input(name, operand.dtype, operand.shape));
  }
  return values;
}

/// One entry's op, and what its gradient adds where it has one.
void add_entry(Costliest& costliest, const std::string& op, const TableEntry& entry) {
  Graph graph;
  const std::vector<Value> operands = add_operands(graph, entry.operands);
  std::vector<Value> wrt;
  for (const Value& operand : operands) {
    if (operand.dtype() == DType::kFloat32) wrt.push_back(operand);
  }
  const std::vector<Value> outputs = graph.add(op, operands, entry.attributes);
  backends::CompileOptions step{.fetches = {outputs[0]}};
  if (OpCatalogue::built_in().find(op)->gradient && outputs[0].dtype() == DType::kFloat32 && !wrt.empty()) {
    for (const Value& gradient : gradients(ops::reduce_sum(ops::square(outputs[0])), wrt)) {
      if (gradient.valid()) step.fetches.push_back(gradient);  // A comparison has none, say.
    }
  }
  costliest.add(graph, step, "table");
}

/// Indices that the op takes are below this.
int64_t index_bound(const KernelCase& of) {
  if (of.op == "gather") return of.operands[0].shape[int(of.attributes.get_int("axis"))];
  if (of.op == "gather_grad") return of.operands[2].shape[int(of.attributes.get_int("axis"))];
  if (of.op == "one_hot" || of.op == "multi_hot") return of.attributes.get_int("depth");
  for (const auto& operand : of.operands) {  // Labels are bounded by the number of classes.
    if (operand.dtype == DType::kFloat32 && operand.shape.rank() > 0) return operand.shape[operand.shape.rank() - 1];
  }
  return 1;
}

bool is_lengths(const KernelCase& of, size_t index) {
  return of.attributes.has("inputs") && find_input(of.attributes, "lengths") == int(index);
}

}  // namespace

std::vector<KernelCase> kernel_cases() {
  std::vector<KernelCase> cases;
  for (const ModelEntry& entry : models()) {
    Costliest costliest;
    const Model model = build(entry);
    costliest.add(*model.graph, step_of(model, kBatch, 1), std::string(entry.name));
    costliest.append_to(cases, {});
  }
  std::set<std::string> of_models;
  for (const KernelCase& of : cases) of_models.insert(of.op);
  Costliest costliest;
  for (const TableEntry& entry : table()) {
    for (const std::string& op : entry.ops) add_entry(costliest, op, entry);
  }
  costliest.append_to(cases, of_models);
  std::stable_sort(cases.begin(), cases.end(), [](const KernelCase& a, const KernelCase& b) { return a.op < b.op; });
  return cases;
}

std::vector<std::string> ops_without_case(const std::vector<KernelCase>& cases) {
  std::vector<std::string> missing;
  for (const std::string& op : OpCatalogue::built_in().names()) {
    const bool has_case = std::any_of(cases.begin(), cases.end(), [&op](const KernelCase& of) { return of.op == op; });
    if (!has_case && !OpCatalogue::built_in().find(op)->view) missing.push_back(op);
  }
  return missing;
}

std::vector<Value> add_case(Graph& graph, const KernelCase& of) {
  return {graph.add(of.op, add_operands(graph, of.operands), of.attributes)[0]};
}

Tensor operand_data(const KernelCase& of, size_t index) {
  const KernelCase::Operand& operand = of.operands[index];
  Tensor tensor = Tensor::zeros(operand.dtype, operand.shape);
  if (operand.dtype == DType::kFloat32) fill_uniform(RandomKey{1}, 0, tensor.mutable_as<float>(), 0.25f, 1.0f);
  RandomStream stream(RandomKey{2});
  const auto index_or_length = [&]() -> int64_t {
    return is_lengths(of, index) ? of.operands[0].shape[1] : int64_t(stream.below(uint64_t(index_bound(of))));
  };
  if (operand.dtype == DType::kInt64) {
    for (int64_t& value : tensor.mutable_as<int64_t>()) value = index_or_length();
  } else if (operand.dtype == DType::kInt32) {
    for (int32_t& value : tensor.mutable_as<int32_t>()) value = int32_t(index_or_length());
  } else if (operand.dtype == DType::kBool) {
    for (bool& value : tensor.mutable_as<bool>()) value = stream.below(2) == 1;
  }
  return tensor;
}

}  // namespace shoal::bench
