// SPDX-License-Identifier: Apache-2.0
// Normalizations, softmax, and the losses based on softmax.
#include "onnx/lowering.h"

namespace shoal::convert {
namespace {

float epsilon_of(const Lowering& node) { return float(node.attributes().get_real("epsilon")); }

/// Returns (x - mean) / sqrt(variance + epsilon) * scale + shift, where channels are the last axis.
std::string normalized(Lowering& node, const std::string& x, const std::string& mean, const std::string& variance,
                       const std::string& scale, const std::string& shift) {
  const std::string deviation = node.add("Sqrt", {node.add("Add", {variance, node.constant(epsilon_of(node))})});
  const std::string factor = node.add("Div", {scale, deviation});
  return node.add("Add", {node.add("Mul", {node.add("Sub", {x, mean}), factor}), shift});
}

void write_batch_norm_inference(Lowering& node) {
  if (node.has_image(0)) {
    node.set_image(
        node.activated(node.add("BatchNormalization", {node.image(0), node.in(1), node.in(2), node.in(3), node.in(4)},
                                {{"epsilon", epsilon_of(node)}})));
    return;
  }
  node.set(0, node.activated(normalized(node, node.in(0), node.in(3), node.in(4), node.in(1), node.in(2))));
}

std::vector<int64_t> all_but_last(int rank) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis + 1 < rank; ++axis) axes.push_back(axis);
  return axes;
}

std::string mean_of(Lowering& node, const std::string& x, const std::vector<int64_t>& axes, bool keep) {
  return node.add("ReduceMean", {x}, {{"axes", axes}, {"keepdims", int64_t(keep)}});
}

/// Writes a batch norm that takes mean and variance from the batch for which it predicts.
void write_batch_norm(Lowering& node) {
  const std::vector<int64_t> axes = all_but_last(node.type(0).shape.rank());
  const std::string x = node.in(0);
  const std::string mean = mean_of(node, x, axes, false);
  const std::string offset = node.add("Sub", {x, mean});
  const std::string variance = mean_of(node, node.add("Mul", {offset, offset}), axes, false);
  std::string y = normalized(node, x, mean, variance, node.in(1), node.in(2));
  if (node.inputs() > 3) y = node.add("Add", {y, node.in(3)});
  node.set(0, node.activated(y));
  node.set(1, mean);
  // The unbiased estimate of the variance divides by one less than the number of elements, if there is more than one.
  const std::string elements = node.to(node.add("Size", {x}), DType::kFloat32);
  const std::string count = node.add("Div", {elements, node.constant(float(node.type(0).shape.dims().back().size()))});
  const std::string others = node.add("Sub", {count, node.constant(1.0f)});
  const std::string divisor = node.add("Max", {others, node.constant(1.0f)});
  node.set(2, node.add("Div", {node.add("Mul", {variance, count}), divisor}));
}

void write_layer_norm(Lowering& node) {
  node.set(0, node.add("LayerNormalization", {node.in(0), node.in(1), node.in(2)},
                       {{"axis", int64_t(-1)}, {"epsilon", epsilon_of(node)}}));
}

/// Groups are parts of the last axis: x [n, ..., C] is reshaped to [n, positions, groups, C / groups].
void write_group_norm(Lowering& node) {
  const DimShape& shape = node.type(0).shape;
  const int64_t groups = node.attributes().get_int("groups"), channels = shape.dims().back().size();
  int64_t positions = 1;
  for (int axis = 1; axis + 1 < shape.rank(); ++axis) positions *= shape[axis].size();
  const std::string x = node.reshape(node.in(0), {shape[0], positions, groups, channels / groups});
  const std::string offset = node.add("Sub", {x, mean_of(node, x, {1, 3}, true)});
  const std::string variance = mean_of(node, node.add("Mul", {offset, offset}), {1, 3}, true);
  const std::string deviation = node.add("Sqrt", {node.add("Add", {variance, node.constant(epsilon_of(node))})});
  const std::string y = node.reshape(node.add("Div", {offset, deviation}), shape);
  node.set(0, node.add("Add", {node.add("Mul", {y, node.in(1)}), node.in(2)}));
}

void write_softmax(Lowering& node) { node.set(0, node.add("Softmax", {node.in(0)}, {{"axis", int64_t(-1)}})); }
void write_log_softmax(Lowering& node) { node.set(0, node.add("LogSoftmax", {node.in(0)}, {{"axis", int64_t(-1)}})); }

/// Writes loss = -((1 - s) log p[label] + s mean(log p)), where s is the label smoothing.
void write_softmax_cross_entropy(Lowering& node) {
  const std::string logs = node.add("LogSoftmax", {node.in(0)}, {{"axis", int64_t(-1)}});
  const std::string chosen = node.add("GatherElements", {logs, node.unsqueeze(node.in(1), -1)}, {{"axis", int64_t(-1)}});
  std::string likelihood = node.squeeze(chosen, -1);
  if (node.attributes().has("label_smoothing")) {
    const double smoothing = node.attributes().get_real("label_smoothing");
    const std::string mean = mean_of(node, logs, {-1}, false);
    likelihood = node.add("Add", {node.add("Mul", {likelihood, node.constant(float(1 - smoothing))}),
                                  node.add("Mul", {mean, node.constant(float(smoothing))})});
  }
  node.set(0, node.add("Neg", {likelihood}));
  node.set(1, node.add("Softmax", {node.in(0)}, {{"axis", int64_t(-1)}}));
}

}  // namespace

void add_norm_rules(OnnxRules& rules) {
  rules["batch_norm"] = {write_batch_norm};
  rules["batch_norm_inference"] = {write_batch_norm_inference};
  rules["layer_norm"] = {write_layer_norm};
  rules["group_norm"] = {write_group_norm};
  rules["softmax"] = {write_softmax};
  rules["log_softmax"] = {write_log_softmax};
  rules["softmax_cross_entropy"] = {write_softmax_cross_entropy};
}

}  // namespace shoal::convert
