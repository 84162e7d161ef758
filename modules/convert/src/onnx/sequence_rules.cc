// SPDX-License-Identifier: Apache-2.0
// Recurrences and attention.
#include "onnx/lowering.h"

namespace shoal::convert {
namespace {

/// A recurrence of Shoal takes projected inputs; a recurrence of ONNX projects its inputs itself. So the dense layer
/// that projected them becomes part of the ONNX node; without such a layer, an identity matrix takes its place.
struct RecurrentInputs {
  std::string x, kernel;
  std::string bias;  ///< "": there is none.
};

/// Reorders rows [gates * units, ...] from Shoal's order of gates to ONNX's.
std::string reordered(Lowering& node, const std::string& rows, int64_t units, const std::vector<int64_t>& order) {
  std::vector<int64_t> from;
  for (int64_t gate : order) {
    for (int64_t u = 0; u < units; ++u) from.push_back(gate * units + u);
  }
  return node.add("Gather", {rows, node.ints(from)}, {{"axis", int64_t(0)}});
}

std::string identity_matrix(Lowering& node, int64_t size) {
  const std::string ones = node.add("ConstantOfShape", {node.ints({size, size})});
  return node.add("EyeLike", {ones}, {{"dtype", int64_t(value_or_raise(onnx_element_type(DType::kFloat32)))}});
}

/// Transposes [n, t, ...] to [t, n, ...], or back.
std::string steps_first(Lowering& node, const std::string& x) { return node.transpose(x, {1, 0, 2}); }

std::string state_or_none(Lowering& node, const char* name) {
  const int input = node.named(name);
  return input < 0 ? "" : node.unsqueeze(node.in(size_t(input)), 0);
}

RecurrentInputs inputs_of(Lowering& node, int64_t gates, int64_t units) {
  const Node* layer = node.maker_of(0);
  if (layer->op != "dense" || layer->attributes.get_string("activation") != "none") {
    return {node.in(0), identity_matrix(node, gates * units), ""};
  }
  const auto& of = layer->inputs;
  return {node.name_of(of[0]), node.name_of(of[1]), of.size() > 2 ? node.name_of(of[2]) : ""};
}

/// Returns the operands of an ONNX recurrence: X, W, R, B, sequence_lens, initial_h.
std::vector<std::string> operands_of(Lowering& node, int64_t gates, const std::vector<int64_t>& order) {
  const int64_t units = node.output(1).shape[1].size();
  const RecurrentInputs from = inputs_of(node, gates, units);
  const int state_bias = node.named("recurrent_bias");
  std::string biases;  // The biases of the input's projection, then those of the state's projection.
  if (!from.bias.empty() || state_bias >= 0) {
    const std::string none = node.add("ConstantOfShape", {node.ints({gates * units})});
    const std::string of_input = from.bias.empty() ? none : reordered(node, from.bias, units, order);
    const std::string of_state = state_bias < 0 ? none : reordered(node, node.in(size_t(state_bias)), units, order);
    biases = node.unsqueeze(node.add("Concat", {of_input, of_state}, {{"axis", int64_t(0)}}), 0);
  }
  const int lengths = node.named("lengths");
  return {steps_first(node, from.x),
          node.unsqueeze(reordered(node, from.kernel, units, order), 0),
          node.unsqueeze(reordered(node, node.in(1), units, order), 0),
          biases,
          lengths < 0 ? "" : node.to(node.in(size_t(lengths)), DType::kInt32),
          state_or_none(node, "initial_hidden")};
}

/// [t, 1, n, U] to [n, t, U].
std::string sequence_of(Lowering& node, const std::string& y) { return steps_first(node, node.squeeze(y, 1)); }

/// The last state. For a sequence of length 0 this is the initial state, set here because runtimes differ about it.
std::string last_state(Lowering& node, const std::string& y, const char* initial_name) {
  const std::string last = node.squeeze(y, 0);
  const int lengths = node.named("lengths"), initial = node.named(initial_name);
  if (lengths < 0) return last;
  const std::string begun = node.add("Greater", {node.in(size_t(lengths)), node.constant(int64_t(0))});
  const std::string otherwise = initial < 0 ? node.constant(0.0f) : node.in(size_t(initial));
  return node.add("Where", {node.unsqueeze(begun, 1), last, otherwise});
}

void write_lstm(Lowering& node) {
  std::vector<std::string> operands = operands_of(node, 4, {0, 3, 1, 2});  // i, f, g, o to i, o, f, g.
  operands.push_back(state_or_none(node, "initial_cell"));
  const int64_t units = node.output(1).shape[1].size();
  const auto y = node.onnx().add_many("LSTM", operands, 3, {{"hidden_size", units}});
  node.set(0, sequence_of(node, y[0]));
  node.set(1, last_state(node, y[1], "initial_hidden"));
  node.set(2, last_state(node, y[2], "initial_cell"));
}

void write_gru(Lowering& node) {
  const std::vector<std::string> operands = operands_of(node, 3, {1, 0, 2});  // r, z, m to z, r, m.
  const int64_t units = node.output(1).shape[1].size();
  const auto y = node.onnx().add_many("GRU", operands, 2, {{"hidden_size", units}, {"linear_before_reset", int64_t(1)}});
  node.set(0, sequence_of(node, y[0]));
  node.set(1, last_state(node, y[1], "initial_hidden"));
}

/// Turns [n, t, heads * size] into [n, heads, t, size].
std::string heads_apart(Lowering& node, const std::string& x, const DimShape& shape, int64_t heads) {
  const int64_t size = shape[2].size() / heads;
  return node.transpose(node.reshape(x, {shape[0], shape[1], heads, size}), {0, 2, 1, 3});
}

/// Returns which keys each query may attend to: a bool tensor that broadcasts to [n, heads, t, s], or "" without a limit.
std::string allowed_keys(Lowering& node, const Dim& keys, const Dim& queries) {
  const bool causal = node.attributes().get_bool("causal");
  const int lengths = node.named("lengths");
  if (!causal && lengths < 0) return "";
  const auto counted = [&](const Dim& dim) {
    return node.add("Range", {node.constant(int64_t(0)), node.squeeze(node.sizes({dim}), 0), node.constant(int64_t(1))});
  };
  const std::string positions = counted(keys);
  std::string allowed;
  if (causal) allowed = node.add("LessOrEqual", {positions, node.unsqueeze(counted(queries), 1)});
  if (lengths >= 0) {
    const std::string there = node.add("Unsqueeze", {node.in(size_t(lengths)), node.ints({1, 2, 3})});
    const std::string inside = node.add("Less", {positions, there});
    allowed = allowed.empty() ? inside : node.add("And", {allowed, inside});
  }
  return allowed;
}

struct Attended {
  std::string query, key, value;
  DimShape query_shape, key_shape, value_shape;
};

void write_attended(Lowering& node, const Attended& of) {
  const int64_t heads = node.attributes().get_int("heads");
  const std::string query = heads_apart(node, of.query, of.query_shape, heads);
  const std::string keys = node.transpose(heads_apart(node, of.key, of.key_shape, heads), {0, 1, 3, 2});
  std::string scores = node.add("MatMul", {query, keys});
  scores = node.add("Mul", {scores, node.constant(float(node.attributes().get_real("scale")))});
  const std::string allowed = allowed_keys(node, of.key_shape[1], of.query_shape[1]);
  // The score of a forbidden key is finite, since softmax of infinities alone would be NaN.
  if (!allowed.empty()) scores = node.add("Where", {allowed, scores, node.constant(-3e38f)});
  std::string probabilities = node.add("Softmax", {scores}, {{"axis", int64_t(-1)}});
  if (!allowed.empty()) probabilities = node.add("Where", {allowed, probabilities, node.constant(0.0f)});
  const std::string values = heads_apart(node, of.value, of.value_shape, heads);
  const std::string result = node.transpose(node.add("MatMul", {probabilities, values}), {0, 2, 1, 3});
  node.set(0, node.reshape(result, node.output(0).shape));
  node.set(1, probabilities);
}

void write_attention(Lowering& node) {
  write_attended(node, {node.in(0), node.in(1), node.in(2), node.type(0).shape, node.type(1).shape, node.type(2).shape});
}

void write_self_attention(Lowering& node) {
  const DimShape& shape = node.type(0).shape;
  const int64_t third = shape[2].size() / 3;
  const auto parts =
      node.onnx().add_many("Split", {node.in(0), node.ints({third, third, third})}, 3, {{"axis", int64_t(2)}});
  const DimShape one{shape[0], shape[1], third};
  write_attended(node, {parts[0], parts[1], parts[2], one, one, one});
}

}  // namespace

void add_sequence_rules(OnnxRules& rules) {
  rules["lstm"] = {write_lstm};
  rules["gru"] = {write_gru};
  rules["recurrent_grad_kernel"] = {nullptr, "belongs to gradients"};
  rules["attention"] = {write_attention};
  rules["self_attention"] = {write_self_attention};
}

}  // namespace shoal::convert
