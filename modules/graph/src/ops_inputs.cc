// SPDX-License-Identifier: Apache-2.0
/// Ops for numbers, ids and labels of the input data: multi_hot, check_range, bucketize, cross_ids, default_ids.
#include <algorithm>

#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

Result<void> expect_ids(const ValueType& type) {
  if (type.dtype == DType::kInt64 || type.dtype == DType::kInt32) return {};
  return invalid_argument("ids is " + describe(type) + "; it must be int64 or int32");
}

/// Operands: ids [a..., L], and optional weights of the same shape. Result: [a..., depth].
Outputs multi_hot_types(Types inputs, const Attributes& attributes) {
  const ValueType& ids = inputs[0];
  SHOAL_TRY_VOID(expect_ids(ids));
  SHOAL_TRY_VOID(expect_rank_min(ids, 1, "ids"));
  if (inputs.size() > 1) {
    SHOAL_TRY_VOID(expect_float(inputs[1], "weights"));
    SHOAL_TRY_VOID(expect_equal_shapes(ids, "ids", inputs[1], "weights"));
  }
  SHOAL_TRY(const int64_t depth, int_attribute(attributes, "depth"));
  if (depth < 1) return invalid_argument("depth is " + std::to_string(depth) + ", expected 1 or more");
  std::vector<Dim> dims = ids.shape.dims();
  dims.back() = depth;
  return std::vector{float_type(DimShape(std::move(dims)))};
}

Outputs check_range_types(Types inputs, const Attributes& attributes) {
  if (!is_number(inputs[0].dtype)) return invalid_argument("x is " + describe(inputs[0]) + "; it must be numbers");
  SHOAL_TRY(const double low, real_attribute(attributes, "low"));
  SHOAL_TRY(const double high, real_attribute(attributes, "high"));
  SHOAL_TRY_VOID(bool_attribute(attributes, "whole"));
  SHOAL_TRY_VOID(string_attribute(attributes, "what"));
  if (attributes.has("remedy")) SHOAL_TRY_VOID(string_attribute(attributes, "remedy"));
  if (!(low <= high)) {
    return invalid_argument("low is " + std::to_string(low) + ", high " + std::to_string(high) + ", expected low <= high");
  }
  return std::vector{inputs[0]};
}

std::vector<Value> check_range_gradient(const GradientRequest& request) { return {request.output_gradients[0]}; }

Outputs bucketize_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_float(inputs[0], "x"));
  SHOAL_TRY_VOID(expect_float_rank(inputs[1], 1, "boundaries"));
  SHOAL_TRY(const int64_t spacing, int_attribute(attributes, "spacing"));
  SHOAL_TRY(const int64_t missing_id, int_attribute(attributes, "missing_id"));
  if (spacing < 0) return invalid_argument("spacing is " + std::to_string(spacing) + ", expected 0 or more");
  if (missing_id < -1) return invalid_argument("missing_id is " + std::to_string(missing_id) + ", expected -1 or more");
  return std::vector{ValueType{DType::kInt64, inputs[0].shape}};
}

/// Operands: ids [n..., L1], [n..., L2], ... Result: [n..., L1 * L2 * ...].
Outputs cross_ids_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(const int64_t buckets, int_attribute(attributes, "buckets"));
  if (buckets < 1) return invalid_argument("buckets is " + std::to_string(buckets) + ", expected 1 or more");
  std::vector<Dim> dims;
  int64_t combinations = 1;
  for (const ValueType& ids : inputs) {
    SHOAL_TRY_VOID(expect_dtype(ids, DType::kInt64, "ids"));
    SHOAL_TRY_VOID(expect_rank_min(ids, 1, "ids"));
    std::vector<Dim> lists = ids.shape.dims();
    if (lists.back().is_symbol()) return invalid_argument("ids is " + describe(ids) + "; its last size must be a number");
    combinations *= std::min(lists.back().size(), int64_t(1) << 20);
    if (combinations > int64_t(1) << 20) return invalid_argument("one row has more than 1048576 combinations");
    lists.pop_back();
    if (&ids != inputs.data() && lists != dims) {
      return invalid_argument("ids is " + describe(ids) + " and " + describe(inputs[0]) +
                              "; only the last size may differ");
    }
    dims = std::move(lists);
  }
  dims.emplace_back(combinations);
  return std::vector{ValueType{DType::kInt64, DimShape(std::move(dims))}};
}

Outputs default_ids_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_ids(inputs[0]));
  SHOAL_TRY(const int64_t depth, int_attribute(attributes, "depth"));
  SHOAL_TRY(const int64_t otherwise, int_attribute(attributes, "otherwise"));
  if (depth < 1) return invalid_argument("depth is " + std::to_string(depth) + ", expected 1 or more");
  if (attributes.has("lowest")) {
    SHOAL_TRY(const int64_t lowest, int_attribute(attributes, "lowest"));
    if (lowest != -1 && lowest != 0) {
      return invalid_argument("lowest is " + std::to_string(lowest) + ", expected -1 or 0");
    }
  }
  if (otherwise < -1 || otherwise >= depth) {
    return invalid_argument("otherwise is " + std::to_string(otherwise) + ", expected a number in [-1, " +
                            std::to_string(depth) + ")");
  }
  return std::vector{ValueType{DType::kInt64, inputs[0].shape}};
}

}  // namespace

void add_input_ops(const AddOp& add) {
  add({.name = "multi_hot", .inputs_min = 1, .inputs_max = 2, .shape_rule = multi_hot_types});
  add({.name = "check_range",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = check_range_types,
       .gradient = check_range_gradient,
       .in_place = {{0, 0}}});
  add({.name = "bucketize", .inputs_min = 2, .inputs_max = 2, .shape_rule = bucketize_types});
  add({.name = "cross_ids", .inputs_min = 2, .inputs_max = 64, .shape_rule = cross_ids_types});
  add({.name = "default_ids", .inputs_min = 1, .inputs_max = 1, .shape_rule = default_ids_types});
}

}  // namespace rules

namespace ops {

Value multi_hot(Value ids, int64_t depth, Value weights, std::string_view name) {
  std::vector<Value> operands{ids};
  if (weights.valid()) operands.push_back(weights);
  return rules::graph_of("multi_hot", ids).add("multi_hot", std::move(operands), {{"depth", depth}}, name)[0];
}

Value check_range(Value x, const CheckRangeOptions& options, std::string_view name) {
  Attributes attributes{{"low", options.low}, {"high", options.high}, {"whole", options.whole}, {"what", options.what}};
  if (!options.remedy.empty()) attributes.set("remedy", options.remedy);
  return rules::graph_of("check_range", x).add("check_range", {x}, std::move(attributes), name)[0];
}

Value bucketize(Value x, Value boundaries, const BucketizeOptions& options, std::string_view name) {
  return rules::graph_of("bucketize", x)
      .add("bucketize", {x, boundaries}, {{"spacing", options.spacing}, {"missing_id", options.missing_id}}, name)[0];
}

Value cross_ids(const std::vector<Value>& ids, int64_t buckets, std::string_view name) {
  return rules::graph_of("cross_ids", ids.empty() ? Value() : ids[0])
      .add("cross_ids", ids, {{"buckets", buckets}}, name)[0];
}

Value default_ids(Value ids, const DefaultIdsOptions& options, std::string_view name) {
  Attributes attributes{{"depth", options.depth}, {"otherwise", options.otherwise}};
  // The lowest id that stays. Graphs of versions that always kept -1 lack this attribute.
  if (!options.keeps_padding) attributes.set("lowest", int64_t(0));
  return rules::graph_of("default_ids", ids).add("default_ids", {ids}, std::move(attributes), name)[0];
}

}  // namespace ops
}  // namespace shoal
