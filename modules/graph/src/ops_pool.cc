// SPDX-License-Identifier: Apache-2.0
/// Pooling over windows of images.
#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

constexpr int64_t kWindowElementsMax = 256;  // The position of a maximum is stored in one byte.

Result<DimShape> pooled_shape(const ValueType& x, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_float_rank(x, 4, "x"));
  SHOAL_TRY(const auto window, ints_attribute(attributes, "window", 2));
  SHOAL_TRY(const Sliding out, slide(x, window[0], window[1], attributes));
  return DimShape{x.shape[0], out.out_height, out.out_width, x.shape[3]};
}

Outputs max_pool_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(const DimShape shape, pooled_shape(inputs[0], attributes));
  const auto& window = attributes.get_ints("window");
  if (window[0] > kWindowElementsMax || window[1] > kWindowElementsMax || window[0] * window[1] > kWindowElementsMax) {
    return invalid_argument("a window of " + std::to_string(window[0]) + " x " + std::to_string(window[1]) +
                            " has more than 256 elements");
  }
  return std::vector{float_type(shape), ValueType{DType::kUInt8, shape}};
}

Outputs avg_pool_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(DimShape shape, pooled_shape(inputs[0], attributes));
  return std::vector{float_type(std::move(shape))};
}

Outputs max_pool_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(const auto pooled, max_pool_types(inputs.subspan(2), attributes));
  SHOAL_TRY_VOID(expect_float(inputs[0], "dy"));
  SHOAL_TRY_VOID(expect_dtype(inputs[1], DType::kUInt8, "index"));
  SHOAL_TRY_VOID(expect_equal_shapes(inputs[0], "dy", pooled[0], "the result"));
  SHOAL_TRY_VOID(expect_equal_shapes(inputs[1], "index", pooled[1], "the result"));
  return std::vector{inputs[2]};
}

Outputs avg_pool_grad_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY(const auto pooled, avg_pool_types(inputs.subspan(1), attributes));
  SHOAL_TRY_VOID(expect_float(inputs[0], "dy"));
  SHOAL_TRY_VOID(expect_equal_shapes(inputs[0], "dy", pooled[0], "the result"));
  return std::vector{inputs[1]};
}

std::vector<Value> max_pool_gradient(const GradientRequest& request) {
  return request.graph.add("max_pool_grad", {request.output_gradients[0], request.outputs[1], request.node.inputs[0]},
                           request.node.attributes);
}

std::vector<Value> avg_pool_gradient(const GradientRequest& request) {
  return request.graph.add("avg_pool_grad", {request.output_gradients[0], request.node.inputs[0]}, request.node.attributes);
}

Value pool(std::string_view op, Value x, const ops::PoolOptions& options, std::string_view name) {
  Graph& graph = graph_of(op, x);
  std::array<int64_t, 2> strides = options.strides;
  for (size_t axis = 0; axis < 2; ++axis) {
    if (strides[axis] == 0) strides[axis] = options.window[axis];
  }
  return graph.add(op, {x},
                   {{"window", std::vector<int64_t>(options.window.begin(), options.window.end())},
                    {"strides", std::vector<int64_t>(strides.begin(), strides.end())},
                    {"padding", resolve_padding(op, x, options.window, strides, options.padding)}},
                   name)[0];
}

}  // namespace

void add_pool_ops(const AddOp& add) {
  add({.name = "max_pool",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = max_pool_types,
       .gradient = max_pool_gradient,
       .rewrites = {.takes_maxima = true}});
  add({.name = "max_pool_grad",
       .inputs_min = 3,
       .inputs_max = 3,
       .shape_rule = max_pool_grad_types,
       .shape_only = {2},
       .rewrites = {.spreads_to_maxima = true}});
  add({.name = "avg_pool", .inputs_min = 1, .inputs_max = 1, .shape_rule = avg_pool_types, .gradient = avg_pool_gradient});
  add({.name = "avg_pool_grad", .inputs_min = 2, .inputs_max = 2, .shape_rule = avg_pool_grad_types, .shape_only = {1}});
}

}  // namespace rules

namespace ops {

Value max_pool(Value x, const PoolOptions& options, std::string_view name) {
  return rules::pool("max_pool", x, options, name);
}
Value avg_pool(Value x, const PoolOptions& options, std::string_view name) {
  return rules::pool("avg_pool", x, options, name);
}

}  // namespace ops
}  // namespace shoal
