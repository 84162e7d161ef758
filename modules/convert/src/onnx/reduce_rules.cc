// SPDX-License-Identifier: Apache-2.0
// Sums, means and maxima along axes, and repetition along axes.
#include "onnx/lowering.h"
#include "shoal/graph/axes.h"

namespace shoal::convert {
namespace {

std::vector<int64_t> axes_of(const Lowering& node) { return reduced_axes(node.attributes(), node.type(0).shape.rank()); }

int64_t keeps(const Lowering& node) {
  return node.attributes().has("keep_dims") && node.attributes().get_bool("keep_dims") ? 1 : 0;
}

/// True for a scalar, which has no axis to reduce.
bool is_scalar(const Lowering& node) { return node.type(0).shape.rank() == 0; }

void write_reduce_sum(Lowering& node) {
  if (is_scalar(node)) return node.set(0, node.in(0));
  node.set(0, node.sum(node.in(0), axes_of(node), keeps(node) != 0));
}

template <const char* kOp>
void write_reduction(Lowering& node) {
  if (is_scalar(node)) return node.set(0, node.in(0));
  node.set(0, node.add(kOp, {node.in(0)}, {{"axes", axes_of(node)}, {"keepdims", keeps(node)}}));
}

void write_fill_like(Lowering& node) { node.set(0, node.expand(node.in(0), node.output().shape)); }

/// Broadcasts x to the shape of the result. With the attribute "axes", x lacks these axes of the result, or has them with
/// size 1.
void write_broadcast_like(Lowering& node) {
  std::string x = node.in(0);
  if (node.attributes().has("axes") && node.type(0).shape.rank() < node.output().shape.rank()) {
    x = node.add("Unsqueeze", {x, node.ints(node.attributes().get_ints("axes"))});
  }
  node.set(0, node.expand(x, node.output().shape));
}

/// Sums over the axes that the result lacks, or has with size 1.
void write_sum_like(Lowering& node) {
  const DimShape &from = node.type(0).shape, &to = node.output().shape;
  const int lacking = from.rank() - to.rank();
  std::vector<int64_t> axes;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (axis < lacking || from[axis] != to[axis - lacking]) axes.push_back(axis);
  }
  if (axes.empty()) return node.set(0, node.in(0));
  node.set(0, node.reshape(node.sum(node.in(0), axes, true), to));
}

/// Sums in binary64, since squares of large numbers exceed float32.
void write_global_norm(Lowering& node) {
  constexpr int64_t kBinary64 = 11;  // DOUBLE in ONNX's enum TensorProto.DataType.
  std::string total;
  for (size_t i = 0; i < node.inputs(); ++i) {
    const std::string x = node.add("Cast", {node.in(i)}, {{"to", kBinary64}});
    const std::string part = node.add("ReduceSumSquare", {x}, {{"keepdims", int64_t(0)}});
    total = i == 0 ? part : node.add("Add", {total, part});
  }
  node.set(0, node.to(node.add("Sqrt", {total}), DType::kFloat32));
}

constexpr char kReduceMean[] = "ReduceMean", kReduceMax[] = "ReduceMax";

}  // namespace

void add_reduce_rules(OnnxRules& rules) {
  rules["reduce_sum"] = {write_reduce_sum};
  rules["reduce_mean"] = {write_reduction<kReduceMean>};
  rules["reduce_max"] = {write_reduction<kReduceMax>};
  rules["fill_like"] = {write_fill_like};
  rules["broadcast_like"] = {write_broadcast_like};
  rules["sum_like"] = {write_sum_like};
  rules["global_norm"] = {write_global_norm};
  rules["mean_grad"] = {nullptr, "belongs to gradients"};
}

}  // namespace shoal::convert
