/// Sums and means over all elements, and their gradients.
#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

Outputs reduce_types(Types inputs, const Attributes&) {
  SHOAL_TRY_VOID(expect_float(inputs[0], "x"));
  return std::vector{float_type({})};
}

Outputs fill_types(Types inputs, const Attributes&) {
  SHOAL_TRY_VOID(expect_float_rank(inputs[0], 0, "value"));
  return std::vector{float_type(inputs[1].shape)};
}

std::vector<Value> reduce_sum_gradient(const GradientRequest& request) {
  return {ops::fill_like(request.output_gradients[0], request.node.inputs[0])};
}

std::vector<Value> reduce_mean_gradient(const GradientRequest& request) {
  return request.graph.add("mean_grad", {request.output_gradients[0], request.node.inputs[0]});
}

std::vector<Value> fill_like_gradient(const GradientRequest& request) {
  return {ops::reduce_sum(request.output_gradients[0]), Value()};
}

}  // namespace

void add_reduce_ops(const AddOp& add) {
  add({.name = "reduce_sum",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = reduce_types,
       .gradient = reduce_sum_gradient});
  add({.name = "reduce_mean",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = reduce_types,
       .gradient = reduce_mean_gradient});
  add({.name = "fill_like",
       .inputs_min = 2,
       .inputs_max = 2,
       .shape_rule = fill_types,
       .gradient = fill_like_gradient,
       .shape_only = {1}});
  add({.name = "mean_grad", .inputs_min = 2, .inputs_max = 2, .shape_rule = fill_types, .shape_only = {1}});
}

}  // namespace rules

namespace ops {

Value reduce_sum(Value x, std::string_view name) {
  return rules::graph_of("reduce_sum", x).add("reduce_sum", {x}, {}, name)[0];
}
Value reduce_mean(Value x, std::string_view name) {
  return rules::graph_of("reduce_mean", x).add("reduce_mean", {x}, {}, name)[0];
}
Value fill_like(Value value, Value like, std::string_view name) {
  return rules::graph_of("fill_like", value).add("fill_like", {value, like}, {}, name)[0];
}

}  // namespace ops
}  // namespace shoal
