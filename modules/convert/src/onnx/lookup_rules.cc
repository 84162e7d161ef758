// SPDX-License-Identifier: Apache-2.0
// Ops that look up elements by position, and ops that prepare such positions (ids) from the inputs of a model.
//
// An ONNX file cannot refuse an id. Where Shoal ends with an error, a runtime may end with one, too, or give any result.
#include "onnx/lowering.h"
#include "shoal/graph/ops_lookup.h"

namespace shoal::convert {
namespace {

void write_gather(Lowering& node) {
  node.set(0, node.add("Gather", {node.in(0), node.in(1)}, {{"axis", node.attributes().get_int("axis")}}));
}

/// Returns the operand, converted to int64.
std::string ids_of(Lowering& node, size_t input) {
  return node.type(input).dtype == DType::kInt64 ? node.in(input) : node.to(node.in(input), DType::kInt64);
}

std::string one_hot(Lowering& node, const std::string& ids, int64_t depth, float off, float on) {
  return node.add("OneHot", {ids, node.constant(depth), node.onnx().constant(std::vector<float>{off, on})},
                  {{"axis", int64_t(-1)}});
}

/// Adds an axis to a scalar index and removes it again, since OneHot takes no scalar.
void write_one_hot(Lowering& node) {
  const Attributes& of = node.attributes();
  const auto off = float(of.get_real("off_value")), on = float(of.get_real("on_value"));
  const bool is_scalar = node.type(0).shape.rank() == 0;
  const std::string ids = is_scalar ? node.unsqueeze(ids_of(node, 0), 0) : ids_of(node, 0);
  const std::string rows = one_hot(node, ids, of.get_int("depth"), off, on);
  node.set(0, is_scalar ? node.squeeze(rows, 0) : rows);
}

/// OneHot takes the id -1 for the last position. So negative ids, which mark missing ids, are replaced by `depth`, for
/// which OneHot writes a row of zeros.
void write_multi_hot(Lowering& node) {
  const int64_t depth = node.attributes().get_int("depth");
  const std::string ids = ids_of(node, 0);
  const std::string missing = node.add("Less", {ids, node.constant(int64_t(0))});
  const std::string placed = node.add("Where", {missing, node.constant(depth), ids});
  std::string rows = one_hot(node, placed, depth, 0, 1);
  if (node.inputs() > 1) rows = node.add("Mul", {rows, node.unsqueeze(node.in(1), -1)});
  node.set(0, node.sum(rows, {-2}, false));
}

/// Writes two results: the ids of the rows to look up, and the factor by which each row is multiplied. The id -1 marks an
/// empty place of a list; it becomes row 0 with the factor 0.
void write_bag_rows(Lowering& node) {
  const auto combiner = ops::Combiner(node.attributes().get_int("combiner"));
  const std::string ids = ids_of(node, 0);
  const std::string missing = node.add("Equal", {ids, node.constant(int64_t(-1))});
  node.set(0, node.add("Where", {missing, node.constant(int64_t(0)), ids}));
  const std::string zero = node.constant(0.0f), one = node.constant(1.0f);
  std::string factors = node.add("Where", {missing, zero, node.inputs() > 1 ? node.in(1) : one});
  if (combiner == ops::Combiner::kSum) return node.set(1, factors);
  if (node.inputs() > 1) factors = node.add("Relu", {factors});  // A weight that is not above 0 leaves its row out.
  const bool mean = combiner == ops::Combiner::kMean;
  std::string by = node.sum(mean ? factors : node.add("Mul", {factors, factors}), {-1}, true);
  if (!mean) by = node.add("Sqrt", {by});
  const std::string divisor = node.add("Where", {node.add("Greater", {by, zero}), by, one});
  node.set(1, node.add("Div", {factors, divisor}));
}

/// Writes, as the id of each number, how many boundaries are at most that number. If the attribute "spacing" is not 0,
/// position p of the last axis gets ids of its own: spacing * p is added.
void write_bucketize(Lowering& node) {
  const int64_t spacing = node.attributes().get_int("spacing"), missing_id = node.attributes().get_int("missing_id");
  const std::string x = node.in(0);
  const std::string reached = node.add("GreaterOrEqual", {node.unsqueeze(x, -1), node.in(1)});
  std::string ids = node.sum(node.to(reached, DType::kInt64), {-1}, false);
  const std::string missing = node.add("IsNaN", {x});
  ids = node.add("Where", {missing, node.constant(missing_id), ids});
  if (spacing == 0 || node.type(0).shape.rank() == 0) return node.set(0, ids);
  const std::string columns = node.squeeze(node.sizes({node.type(0).shape.dims().back()}), 0);
  const std::string last = node.add("Mul", {columns, node.constant(spacing)});
  const std::string offsets = node.add("Range", {node.constant(int64_t(0)), last, node.constant(spacing)});
  const std::string placed = node.add("Add", {ids, offsets});
  const std::string none = node.add("Equal", {ids, node.constant(int64_t(-1))});
  node.set(0, node.add("Where", {none, ids, placed}));
}

void write_default_ids(Lowering& node) {
  const Attributes& of = node.attributes();
  const std::string ids = ids_of(node, 0);
  const std::string low = node.add("GreaterOrEqual", {ids, node.constant(of.get_int("lowest", -1))});
  const std::string high = node.add("Less", {ids, node.constant(of.get_int("depth"))});
  node.set(0, node.add("Where", {node.add("And", {low, high}), ids, node.constant(of.get_int("otherwise"))}));
}

void write_top_k(Lowering& node) {
  const auto found = node.onnx().add_many("TopK", {node.in(0), node.ints({node.attributes().get_int("k")})}, 2,
                                          {{"axis", int64_t(-1)}, {"largest", int64_t(1)}, {"sorted", int64_t(1)}});
  node.set(0, found[0]);
  node.set(1, found[1]);
}

void write_argmax(Lowering& node) {
  const int64_t last = node.type(0).shape.rank() - 1;
  node.set(0,
           node.add("ArgMax", {node.in(0)}, {{"axis", node.attributes().get_int("axis", last)}, {"keepdims", int64_t(0)}}));
}

}  // namespace

void add_lookup_rules(OnnxRules& rules) {
  rules["gather"] = {write_gather};
  rules["one_hot"] = {write_one_hot};
  rules["multi_hot"] = {write_multi_hot};
  rules["bag_rows"] = {write_bag_rows};
  rules["bucketize"] = {write_bucketize};
  rules["default_ids"] = {write_default_ids};
  rules["top_k"] = {write_top_k};
  rules["argmax"] = {write_argmax};
  // ONNX cannot compute cross_ids: its result becomes an input of the ONNX model, and who runs the model computes it.
  rules["cross_ids"] = {nullptr, "is a hash, which ONNX has no op for"};
}

}  // namespace shoal::convert
