// SPDX-License-Identifier: Apache-2.0
/// Sums, means and maxima along axes, repetition along axes, and their gradients.
#include <algorithm>
#include <string>

#include "shape_rules.h"
#include "shoal/graph/axes.h"
#include "shoal/graph/ops.h"

namespace shoal {

std::vector<int64_t> reduced_axes(const Attributes& attributes, int rank) {
  if (attributes.has("axes")) return attributes.get_ints("axes");
  std::vector<int64_t> all;
  for (int64_t axis = 0; axis < rank; ++axis) all.push_back(axis);
  return all;
}

namespace rules {
namespace {

/// Checks the attribute "axes", which is optional, against a rank.
Result<std::vector<int64_t>> axes_attribute(const Attributes& attributes, const DimShape& shape) {
  const auto found = attributes.values().find("axes");
  if (found != attributes.values().end()) {
    const auto* axes = std::get_if<std::vector<int64_t>>(&found->second);
    if (!axes) return invalid_argument("attribute \"axes\" must be a list of integers");
    for (size_t i = 0; i < axes->size(); ++i) {
      if ((*axes)[i] < 0 || (*axes)[i] >= shape.rank() || (i > 0 && (*axes)[i] <= (*axes)[i - 1])) {
        return invalid_argument("attribute \"axes\" must name axes of " + to_string(shape) + " in ascending order");
      }
    }
  }
  return reduced_axes(attributes, shape.rank());
}

DimShape without_axes(const DimShape& shape, const std::vector<int64_t>& axes, bool keep_dims) {
  std::vector<Dim> dims;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), axis);
    if (!reduced) dims.push_back(shape[axis]);
    if (reduced && keep_dims) dims.emplace_back(1);
  }
  return DimShape(std::move(dims));
}

Outputs reduce_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_float(inputs[0], "x"));
  SHOAL_TRY(const auto axes, axes_attribute(attributes, inputs[0].shape));
  const auto keep = attributes.values().find("keep_dims");
  const bool* keep_dims = keep == attributes.values().end() ? nullptr : std::get_if<bool>(&keep->second);
  if (!keep_dims && keep != attributes.values().end()) {
    return invalid_argument("attribute \"keep_dims\" must be true or false");
  }
  return std::vector{float_type(without_axes(inputs[0].shape, axes, keep_dims && *keep_dims))};
}

Outputs fill_types(Types inputs, const Attributes&) {
  SHOAL_TRY_VOID(expect_float_rank(inputs[0], 0, "value"));
  return std::vector{float_type(inputs[1].shape)};
}

Outputs sum_like_types(Types inputs, const Attributes&) {
  SHOAL_TRY_VOID(expect_float(inputs[0], "x"));
  if (broadcasts_to(inputs[1].shape, inputs[0].shape)) return std::vector{float_type(inputs[1].shape)};
  return invalid_argument("like " + to_string(inputs[1].shape) + " does not broadcast to x " + to_string(inputs[0].shape));
}

/// With the attribute "axes", x has the shape of `like` without these axes, or with size 1 for each of them. Without the
/// attribute, x has any shape that broadcasts to `like`.
Outputs broadcast_like_types(Types inputs, const Attributes& attributes) {
  SHOAL_TRY_VOID(expect_float(inputs[0], "x"));
  const DimShape &x = inputs[0].shape, &like = inputs[1].shape;
  bool fits = false;
  if (attributes.has("axes")) {
    SHOAL_TRY(const auto axes, axes_attribute(attributes, like));
    fits = x == without_axes(like, axes, false) || x == without_axes(like, axes, true);
  } else {
    fits = broadcasts_to(x, like);
  }
  if (fits) return std::vector{float_type(like)};
  return invalid_argument("x " + to_string(x) + " does not broadcast to like " + to_string(like));
}

/// Returns the attribute "axes" of the reduction, for the op that computes its gradient. Without this attribute, the
/// reduction was over all axes: its result is a scalar, whose gradient broadcasts to any shape without attributes.
Attributes axes_of(const GradientRequest& request) {
  if (!request.node.attributes.has("axes")) return {};
  return {{"axes", request.node.attributes.get_ints("axes")}};
}

Value repeat(const GradientRequest& request, Value reduced) {
  return request.graph.add("broadcast_like", {reduced, request.node.inputs[0]}, axes_of(request))[0];
}

std::vector<Value> reduce_sum_gradient(const GradientRequest& request) {
  const Value dy = request.output_gradients[0], x = request.node.inputs[0];
  return {dy.rank() == 0 ? ops::fill_like(dy, x) : repeat(request, dy)};
}

std::vector<Value> reduce_mean_gradient(const GradientRequest& request) {
  return request.graph.add("mean_grad", {request.output_gradients[0], request.node.inputs[0]}, axes_of(request));
}

/// dx = dy / (number of equal maxima) where x is the maximum, else 0.
std::vector<Value> reduce_max_gradient(const GradientRequest& request) {
  const Value x = request.node.inputs[0];
  const Value is_largest = ops::equal(x, repeat(request, request.outputs[0]));
  const Value count = request.graph.add("reduce_sum", {is_largest}, request.node.attributes)[0];
  return {ops::mul(is_largest, repeat(request, ops::div(request.output_gradients[0], count)))};
}

std::vector<Value> fill_like_gradient(const GradientRequest& request) {
  return {ops::reduce_sum(request.output_gradients[0]), Value()};
}

std::vector<Value> sum_like_gradient(const GradientRequest& request) {
  return {ops::broadcast_like(request.output_gradients[0], request.node.inputs[0]), Value()};
}

std::vector<Value> broadcast_like_gradient(const GradientRequest& request) {
  const Value dy = request.output_gradients[0], x = request.node.inputs[0];
  if (!request.node.attributes.has("axes")) return {ops::sum_like(dy, x), Value()};
  Attributes attributes = request.node.attributes;
  attributes.set("keep_dims", x.rank() == dy.rank());
  return {request.graph.add("reduce_sum", {dy}, std::move(attributes))[0], Value()};
}

}  // namespace

void add_reduce_ops(const AddOp& add) {
  auto reduction = [&](std::string name, GradientRule gradient) {
    add({.name = std::move(name),
         .inputs_min = 1,
         .inputs_max = 1,
         .shape_rule = reduce_types,
         .gradient = std::move(gradient)});
  };
  reduction("reduce_sum", reduce_sum_gradient);
  reduction("reduce_mean", reduce_mean_gradient);
  reduction("reduce_max", reduce_max_gradient);
  auto like = [&](std::string name, ShapeRule rule, GradientRule gradient, const Rewrites& rewrites = {}) {
    add({.name = std::move(name),
         .inputs_min = 2,
         .inputs_max = 2,
         .shape_rule = std::move(rule),
         .gradient = std::move(gradient),
         .shape_only = {1},
         .rewrites = rewrites});
  };
  const Rewrites between_equals{.changes_nothing = [](const Attributes&) { return true; }};
  like("fill_like", fill_types, fill_like_gradient);
  like("sum_like", sum_like_types, sum_like_gradient, between_equals);
  like("broadcast_like", broadcast_like_types, broadcast_like_gradient, between_equals);
  like("mean_grad", broadcast_like_types, {});
}

}  // namespace rules

namespace ops {
namespace {

/// A reduction over all axes gets no attributes, so that its description equals those that older versions wrote.
Attributes reduction_attributes(const char* op, Value x, const ReduceOptions& options) {
  const int rank = x.rank();
  std::vector<int64_t> axes;
  for (int64_t axis : options.axes) {
    if (axis < -rank || axis >= rank) {
      raise(invalid_argument(std::string(op) + ": x " + to_string(x.shape()) + " has no axis " + std::to_string(axis)));
    }
    axes.push_back(axis < 0 ? axis + rank : axis);
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    raise(invalid_argument(std::string(op) + ": an axis of x " + to_string(x.shape()) + " is named twice"));
  }
  if (axes.empty()) axes = reduced_axes({}, rank);
  if (int(axes.size()) == rank && !options.keep_dims) return {};
  return {{"axes", std::move(axes)}, {"keep_dims", options.keep_dims}};
}

Value add_reduction(const char* op, Value x, const ReduceOptions& options, std::string_view name) {
  Graph& graph = rules::graph_of(op, x);
  return graph.add(op, {x}, reduction_attributes(op, x, options), name)[0];
}

}  // namespace

Value reduce_sum(Value x, std::string_view name) { return add_reduction("reduce_sum", x, {}, name); }
Value reduce_mean(Value x, std::string_view name) { return add_reduction("reduce_mean", x, {}, name); }
Value reduce_sum(Value x, const ReduceOptions& options, std::string_view name) {
  return add_reduction("reduce_sum", x, options, name);
}
Value reduce_mean(Value x, const ReduceOptions& options, std::string_view name) {
  return add_reduction("reduce_mean", x, options, name);
}
Value reduce_max(Value x, const ReduceOptions& options, std::string_view name) {
  return add_reduction("reduce_max", x, options, name);
}
Value fill_like(Value value, Value like, std::string_view name) {
  return rules::graph_of("fill_like", value).add("fill_like", {value, like}, {}, name)[0];
}
Value sum_like(Value x, Value like, std::string_view name) {
  return rules::graph_of("sum_like", x).add("sum_like", {x, like}, {}, name)[0];
}
Value broadcast_like(Value x, Value like, std::string_view name) {
  return rules::graph_of("broadcast_like", x).add("broadcast_like", {x, like}, {}, name)[0];
}

}  // namespace ops
}  // namespace shoal
