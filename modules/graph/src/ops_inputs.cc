/// What models do with ids and labels as they come in: multi_hot, check_range.
#include <cmath>

#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

/// [a..., L] ids, and perhaps as many weights, to [a..., depth].
Outputs multi_hot_types(Types inputs, const Attributes& attributes) {
  const ValueType& ids = inputs[0];
  if (ids.dtype != DType::kInt64 && ids.dtype != DType::kInt32) {
    return invalid_argument("ids is " + describe(ids) + "; it must be int64 or int32");
  }
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
  if (!(low <= high)) {
    return invalid_argument("low is " + std::to_string(low) + ", high " + std::to_string(high) + ", expected low <= high");
  }
  return std::vector{inputs[0]};
}

std::vector<Value> check_range_gradient(const GradientRequest& request) { return {request.output_gradients[0]}; }

}  // namespace

void add_input_ops(const AddOp& add) {
  add({.name = "multi_hot", .inputs_min = 1, .inputs_max = 2, .shape_rule = multi_hot_types});
  add({.name = "check_range",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = check_range_types,
       .gradient = check_range_gradient,
       .in_place = {{0, 0}}});
}

}  // namespace rules

namespace ops {

Value multi_hot(Value ids, int64_t depth, Value weights, std::string_view name) {
  std::vector<Value> operands{ids};
  if (weights.valid()) operands.push_back(weights);
  return rules::graph_of("multi_hot", ids).add("multi_hot", std::move(operands), {{"depth", depth}}, name)[0];
}

Value check_range(Value x, const CheckRangeOptions& options, std::string_view name) {
  return rules::graph_of("check_range", x)
      .add("check_range", {x},
           {{"low", options.low}, {"high", options.high}, {"whole", options.whole}, {"what", options.what}}, name)[0];
}

}  // namespace ops
}  // namespace shoal
