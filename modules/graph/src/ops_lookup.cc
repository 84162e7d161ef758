// SPDX-License-Identifier: Apache-2.0
/// Ops that look up elements by position: gather, lists of rows, one_hot, top_k.
#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

Result<void> expect_indices(const ValueType& type, std::string_view what) {
  if (type.dtype == DType::kInt64 || type.dtype == DType::kInt32) return {};
  return invalid_argument(std::string(what) + " is " + describe(type) + "; it must be int64 or int32");
}

Result<DimShape> gathered_shape(const ValueType& x, const ValueType& indices, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_rank_min(x, 1, "x"));
  SHOAL_TRY_VOID(expect_indices(indices, "indices"));
  SHOAL_TRY(const int64_t axis, int_attribute(attributes, "axis"));
  if (axis < 0 || axis >= x.shape.rank()) {
    return invalid_argument("x " + to_string(x.shape) + " has no axis " + std::to_string(axis));
  }
  if (x.shape.rank() - 1 + indices.shape.rank() > Shape::kRankMax) {
    return invalid_argument("x " + to_string(x.shape) + " and indices " + to_string(indices.shape) +
                            " would give more than 8 dimensions");
  }
  std::vector<Dim> dims = x.shape.dims();
  const auto at = dims.erase(dims.begin() + axis);
  dims.insert(at, indices.shape.dims().begin(), indices.shape.dims().end());
  return DimShape(std::move(dims));
}

Outputs gather_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(DimShape shape, gathered_shape(inputs[0], inputs[1], attributes));
  return std::vector{ValueType{inputs[0].dtype, std::move(shape)}};
}

Outputs gather_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(DimShape shape, gathered_shape(inputs[2], inputs[1], attributes));
  SHOAL_TRY_VOID(expect_float(inputs[0], "dy"));
  SHOAL_TRY_VOID(expect_equal_shapes(inputs[0], "dy", float_type(std::move(shape)), "the result"));
  return std::vector{float_type(inputs[2].shape)};
}

std::vector<Value> gather_gradient(const GradientRequest& request) {
  const auto& inputs = request.node.inputs;
  const Value dy = request.output_gradients[0];
  return {request.graph.add("gather_grad", {dy, inputs[1], inputs[0]}, request.node.attributes)[0], Value()};
}

/// The types of the results of an op for embedding bags. Operands: ids [n..., L] (each bag is a list of L ids), optional
/// weights of the same shape. Results: for each id, the row to look up, and the factor of this row in the bag's sum.
Outputs bag_rows_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_indices(inputs[0], "ids"));
  SHOAL_TRY_VOID(expect_rank_min(inputs[0], 1, "ids"));
  if (inputs.size() > 1) {
    SHOAL_TRY_VOID(expect_float(inputs[1], "weights"));
    SHOAL_TRY_VOID(expect_equal_shapes(inputs[0], "ids", inputs[1], "weights"));
  }
  SHOAL_TRY(const int64_t combiner, int_attribute(attributes, "combiner"));
  if (combiner < 0 || combiner > int64_t(ops::Combiner::kSqrtN)) {
    return invalid_argument("combiner is " + std::to_string(combiner) + ", expected 0 (sum), 1 (mean) or 2 (sqrtn)");
  }
  return std::vector{ValueType{DType::kInt64, inputs[0].shape}, float_type(inputs[0].shape)};
}

Outputs one_hot_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_indices(inputs[0], "indices"));
  SHOAL_TRY(const int64_t depth, int_attribute(attributes, "depth"));
  SHOAL_TRY_VOID(real_attribute(attributes, "on_value"));
  SHOAL_TRY_VOID(real_attribute(attributes, "off_value"));
  if (depth < 1) return invalid_argument("depth is " + std::to_string(depth) + ", expected 1 or more");
  if (inputs[0].shape.rank() >= Shape::kRankMax) {
    return invalid_argument("indices " + to_string(inputs[0].shape) + " would give more than 8 dimensions");
  }
  std::vector<Dim> dims = inputs[0].shape.dims();
  dims.emplace_back(depth);
  return std::vector{float_type(DimShape(std::move(dims)))};
}

Outputs top_k_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_float(inputs[0], "x"));
  SHOAL_TRY_VOID(expect_rank_min(inputs[0], 1, "x"));
  SHOAL_TRY(const int64_t k, int_attribute(attributes, "k"));
  std::vector<Dim> dims = inputs[0].shape.dims();
  if (dims.back().is_symbol() || k < 1 || k > dims.back().size()) {
    return invalid_argument("k is " + std::to_string(k) + ", expected 1 up to the last size of x " +
                            to_string(inputs[0].shape) + ", which must be a number");
  }
  dims.back() = k;
  const DimShape shape(std::move(dims));
  return std::vector{float_type(shape), ValueType{DType::kInt64, shape}};
}

Outputs top_k_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(const auto chosen, top_k_types(inputs.subspan(2), attributes));
  SHOAL_TRY_VOID(expect_float(inputs[0], "dy"));
  SHOAL_TRY_VOID(expect_dtype(inputs[1], DType::kInt64, "indices"));
  SHOAL_TRY_VOID(expect_equal_shapes(inputs[0], "dy", chosen[0], "the result"));
  SHOAL_TRY_VOID(expect_equal_shapes(inputs[1], "indices", chosen[1], "the result"));
  return std::vector{inputs[2]};
}

std::vector<Value> top_k_gradient(const GradientRequest& request) {
  return request.graph.add("top_k_grad", {request.output_gradients[0], request.outputs[1], request.node.inputs[0]},
                           request.node.attributes);
}

}  // namespace

void add_lookup_ops(const AddOp& add) {
  add({.name = "gather",
       .inputs_min = 2,
       .inputs_max = 2,
       .shape_rule = gather_types,
       .gradient = gather_gradient,
       .reads_a_part = true,
       .looks_up_rows = [](const Attributes& attributes) { return attributes.get_int("axis") == 0; }});
  add({.name = "gather_grad", .inputs_min = 3, .inputs_max = 3, .shape_rule = gather_grad_types, .shape_only = {2}});
  add({.name = "bag_rows", .inputs_min = 1, .inputs_max = 2, .shape_rule = bag_rows_types});
  add({.name = "one_hot", .inputs_min = 1, .inputs_max = 1, .shape_rule = one_hot_types});
  add({.name = "top_k", .inputs_min = 1, .inputs_max = 1, .shape_rule = top_k_types, .gradient = top_k_gradient});
  add({.name = "top_k_grad", .inputs_min = 3, .inputs_max = 3, .shape_rule = top_k_grad_types, .shape_only = {2}});
}

}  // namespace rules

namespace ops {

Value gather(Value x, Value indices, int axis, std::string_view name) {
  Graph& graph = rules::graph_of("gather", x);
  return graph.add("gather", {x, indices}, {{"axis", rules::resolve_axis("gather", x, axis)}}, name)[0];
}

Value embedding_lookup(Value table, Value ids, std::string_view name) {
  return gather(table, ids, 0, name.empty() ? "embedding_lookup" : name);
}

Value embedding_bag(Value table, Value ids, const EmbeddingBagOptions& options, std::string_view name) {
  Graph& graph = rules::graph_of("embedding_bag", table);
  if (table.rank() != 2) {
    raise(invalid_argument("embedding_bag: table is " + rules::describe(table.type()) + ", expected [K, D]"));
  }
  const auto scope = graph.scope(name.empty() ? "embedding_bag" : name);
  std::vector<Value> lists{ids};
  if (options.weights.valid()) lists.push_back(options.weights);
  const auto bags = graph.add("bag_rows", lists, {{"combiner", int64_t(options.combiner)}});
  std::vector<Dim> dims = ids.shape().dims();
  const Dim length = dims.back();
  dims.back() = table.shape()[1];
  if (length == Dim(1)) {  // Each list names one row, so there is nothing to add up.
    std::vector<Dim> flat(dims.begin(), dims.end() - 1);
    const Value rows = reshape(bags[0], DimShape(flat));
    return mul(embedding_lookup(table, rows), bags[1]);
  }
  std::vector<Dim> columns = ids.shape().dims();
  columns.emplace_back(1);
  const Value factors = reshape(bags[1], DimShape(std::move(columns)));
  return reduce_sum(mul(embedding_lookup(table, bags[0]), factors), {.axes = {-2}});
}

Value one_hot(Value indices, const OneHotOptions& options, std::string_view name) {
  return rules::graph_of("one_hot", indices)
      .add("one_hot", {indices},
           {{"depth", options.depth}, {"on_value", options.on_value}, {"off_value", options.off_value}}, name)[0];
}

TopK top_k(Value x, int64_t k, std::string_view name) {
  const auto outputs = rules::graph_of("top_k", x).add("top_k", {x}, {{"k", k}}, name);
  return {outputs[0], outputs[1]};
}

}  // namespace ops
}  // namespace shoal
