// SPDX-License-Identifier: Apache-2.0
// Dense layers, matrix products, convolutions and pools.
#include "onnx/lowering.h"

namespace shoal::convert {
namespace {

void write_dense(Lowering& node) {
  if (node.type(0).shape.rank() == 2) {
    std::vector<std::string> operands{node.in(0), node.in(1)};
    if (node.inputs() > 2) operands.push_back(node.in(2));
    node.set(0, node.activated(node.add("Gemm", std::move(operands), {{"transB", int64_t(1)}})));
    return;
  }
  std::string y = node.add("MatMul", {node.in(0), node.transpose(node.in(1), {1, 0})});
  if (node.inputs() > 2) y = node.add("Add", {y, node.in(2)});
  node.set(0, node.activated(y));
}

std::string matrix(Lowering& node, size_t input, const char* transposed) {
  if (!node.attributes().get_bool(transposed)) return node.in(input);
  std::vector<int64_t> permutation;
  for (int64_t axis = 0; axis < node.type(input).shape.rank(); ++axis) permutation.push_back(axis);
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return node.transpose(node.in(input), permutation);
}

void write_matmul(Lowering& node) {
  node.set(0, node.add("MatMul", {matrix(node, 0, "transpose_a"), matrix(node, 1, "transpose_b")}));
}

/// Returns the pads of ONNX (begins, then ends). Shoal's attribute "padding" is top, bottom, left, right.
std::vector<int64_t> onnx_pads(const Lowering& node) {
  const auto& padding = node.attributes().get_ints("padding");
  return {padding[0], padding[2], padding[1], padding[3]};
}

OnnxAttributes window_attributes(const Lowering& node) {
  const Attributes& of = node.attributes();
  return {{"strides", of.get_ints("strides")},
          {"pads", onnx_pads(node)},
          {"dilations", of.get_ints("dilations", {1, 1})},
          {"group", of.get_int("groups", 1)}};
}

std::vector<std::string> convolved(Lowering& node) {
  std::vector<std::string> operands{node.image(0), node.in(1)};
  if (node.inputs() > 2) operands.push_back(node.in(2));
  return operands;
}

void write_conv2d(Lowering& node) {
  node.set_image(node.activated(node.add("Conv", convolved(node), window_attributes(node))));
}

void write_conv2d_transpose(Lowering& node) {
  const auto& size = node.attributes().get_ints("size");
  const auto &strides = node.attributes().get_ints("strides"), &padding = node.attributes().get_ints("padding");
  const std::vector<int64_t> dilations = node.attributes().get_ints("dilations", {1, 1});
  std::vector<int64_t> beyond;  // Rows and columns of the result that no window reaches; fewer than the stride.
  for (int axis = 0; axis < 2; ++axis) {
    const auto at = size_t(axis);
    const int64_t window = (node.type(1).shape[axis + 2].size() - 1) * dilations[at] + 1;
    const int64_t whole = (node.type(0).shape[axis + 1].size() - 1) * strides[at] + window;
    beyond.push_back(size[at] - (whole - padding[2 * at] - padding[2 * at + 1]));
  }
  OnnxAttributes constants = window_attributes(node);
  constants.emplace_back("output_padding", beyond);
  node.set_image(node.add("ConvTranspose", convolved(node), constants));
}

template <bool kMean>
void write_pool(Lowering& node) {
  OnnxAttributes constants{{"kernel_shape", node.attributes().get_ints("window")},
                           {"strides", node.attributes().get_ints("strides")},
                           {"pads", onnx_pads(node)}};
  if (kMean) constants.emplace_back("count_include_pad", int64_t(0));
  node.set_image(node.add(kMean ? "AveragePool" : "MaxPool", {node.image(0)}, constants));
}

}  // namespace

void add_product_rules(OnnxRules& rules) {
  rules["dense"] = {write_dense};
  rules["matmul"] = {write_matmul};
  rules["matmul_sum"] = {nullptr, "belongs to gradients"};
  rules["conv2d"] = {write_conv2d};
  rules["conv2d_transpose"] = {write_conv2d_transpose};
  rules["max_pool"] = {write_pool<false>};
  rules["avg_pool"] = {write_pool<true>};
}

}  // namespace shoal::convert
