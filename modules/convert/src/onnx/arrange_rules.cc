// SPDX-License-Identifier: Apache-2.0
// Ops that move elements, or change only the shape.
#include "onnx/lowering.h"
#include "shoal/graph/op.h"

namespace shoal::convert {
namespace {

void write_transpose(Lowering& node) {
  const auto& permutation = node.attributes().get_ints("permutation");
  node.set(0, permutation.empty() ? node.in(0) : node.transpose(node.in(0), permutation));
}

void write_concat(Lowering& node) {
  std::vector<std::string> operands;
  for (size_t i = 0; i < node.inputs(); ++i) operands.push_back(node.in(i));
  node.set(0, node.add("Concat", std::move(operands), {{"axis", node.attributes().get_int("axis")}}));
}

void write_split(Lowering& node) {
  const auto& sizes = node.attributes().get_ints("sizes");
  const auto parts = node.onnx().add_many("Split", {node.in(0), node.ints(sizes)}, sizes.size(),
                                          {{"axis", node.attributes().get_int("axis")}});
  for (size_t i = 0; i < parts.size(); ++i) node.set(i, parts[i]);
}

/// A size of -1 in the attribute "size" means that the slice takes the whole axis.
void write_slice(Lowering& node) {
  const Attributes& of = node.attributes();
  const auto &begins = of.get_ints("begin"), &sizes = of.get_ints("size"), &strides = of.get_ints("stride");
  std::vector<int64_t> starts, ends, axes, steps;
  for (size_t axis = 0; axis < begins.size(); ++axis) {
    if (sizes[axis] == -1) continue;
    starts.push_back(begins[axis]);
    ends.push_back(sizes[axis] == 0 ? begins[axis] : begins[axis] + (sizes[axis] - 1) * strides[axis] + 1);
    axes.push_back(int64_t(axis));
    steps.push_back(strides[axis]);
  }
  if (axes.empty()) return node.set(0, node.in(0));
  node.set(0, node.add("Slice", {node.in(0), node.ints(starts), node.ints(ends), node.ints(axes), node.ints(steps)}));
}

/// ONNX needs the padding value as a tensor of x's type.
void write_pad(Lowering& node) {
  const auto &before = node.attributes().get_ints("before"), &after = node.attributes().get_ints("after");
  std::vector<int64_t> pads = before;
  pads.insert(pads.end(), after.begin(), after.end());
  const DType dtype = node.type(0).dtype;
  const auto element = padding_element(dtype, node.attributes().get_real("value"));
  const std::string value = node.onnx().initializer("/" + node.node().name + "/value", {dtype, Shape(), element.data()});
  node.set(0, node.add("Pad", {node.in(0), node.ints(pads), value}, {{"mode", std::string("constant")}}));
}

void write_reshape(Lowering& node) { node.set(0, node.reshape(node.in(0), node.output().shape)); }

}  // namespace

void add_arrange_rules(OnnxRules& rules) {
  rules["transpose"] = {write_transpose};
  rules["concat"] = {write_concat};
  rules["split"] = {write_split};
  rules["slice"] = {write_slice};
  rules["pad"] = {write_pad};
  rules["flatten"] = {write_reshape};
  rules["reshape"] = {write_reshape};
  rules["reshape_like"] = {write_reshape};
}

}  // namespace shoal::convert
