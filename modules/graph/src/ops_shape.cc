// SPDX-License-Identifier: Apache-2.0
/// Ops that only change the shape of x, or make it a constant for gradients. All are views: no bytes are moved.
#include <algorithm>

#include "shape_rules.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace rules {
namespace {

// In the attribute "shape", a size below 0 stands for the size of an axis of x, whether a number or a symbol: -1 for the
// first axis, -2 for the second...
constexpr int64_t size_of_axis(int axis) { return -1 - axis; }

Result<Dim> product_from(const DimShape& shape, int axis) {
  int64_t product = 1;
  for (; axis < shape.rank(); ++axis) {
    if (shape[axis].is_symbol()) {
      return invalid_argument("x " + to_string(shape) + ": only the first size may be a symbol");
    }
    if (__builtin_mul_overflow(product, shape[axis].size(), &product)) {
      return invalid_argument("x " + to_string(shape) + " has too many elements");
    }
  }
  return Dim(product);
}

Outputs flatten_types(Types inputs, const Attributes&) {
  SHOAL_TRY_VOID(expect_rank_min(inputs[0], 1, "x"));
  SHOAL_TRY(const Dim rest, product_from(inputs[0].shape, 1));
  return std::vector{ValueType{inputs[0].dtype, {inputs[0].shape[0], rest}}};
}

Outputs reshape_types(Types inputs, const Attributes& attributes) {
  const DimShape& from = inputs[0].shape;
  const auto found = attributes.values().find("shape");
  const auto* sizes = found == attributes.values().end() ? nullptr : std::get_if<std::vector<int64_t>>(&found->second);
  if (!sizes || sizes->size() > size_t(Shape::kRankMax)) {
    return invalid_argument("attribute \"shape\" must be a list of at most 8 integers");
  }
  std::vector<Dim> to;
  for (int64_t size : *sizes) {
    if (size < -from.rank()) {
      return invalid_argument("attribute \"shape\" names an axis that x " + to_string(from) + " does not have");
    }
    to.push_back(size < 0 ? from[int(-1 - size)] : Dim(size));
  }
  ValueType result{inputs[0].dtype, DimShape(std::move(to))};
  if (same_elements(from, result.shape)) return std::vector{std::move(result)};
  return invalid_argument("x " + to_string(from) + " and " + to_string(result.shape) +
                          " differ in their numbers of elements");
}

Outputs reshape_like_types(Types inputs, const Attributes&) {
  if (same_elements(inputs[0].shape, inputs[1].shape)) return std::vector{ValueType{inputs[0].dtype, inputs[1].shape}};
  return invalid_argument("x " + to_string(inputs[0].shape) + " and like " + to_string(inputs[1].shape) +
                          " differ in their numbers of elements");
}

std::vector<Value> view_gradient(const GradientRequest& request) {
  std::vector<Value> result(request.node.inputs.size());
  result[0] = ops::reshape_like(request.output_gradients[0], request.node.inputs[0]);
  return result;
}

/// The axes of `from` whose symbols do not occur in `shape`. If a symbol occurs n times in `shape`, n of the axes with this
/// symbol are not returned.
std::vector<int> axes_left(const DimShape& from, const DimShape& shape) {
  std::vector<Dim> taken;
  for (const Dim& dim : shape.dims()) {
    if (dim.is_symbol()) taken.push_back(dim);
  }
  std::vector<int> left;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (!from[axis].is_symbol()) continue;
    const auto same = std::find(taken.begin(), taken.end(), from[axis]);
    if (same == taken.end()) {
      left.push_back(axis);
    } else {
      taken.erase(same);
    }
  }
  return left;
}

/// Returns the size that a -1 in `shape` stands for. If `shape` has all symbols of `from`, this is the product of the
/// numbers in `from`, divided by the product of the other numbers in `shape`. If it lacks one symbol, -1 stands for this
/// symbol, and the result is size_of_axis() of the symbol's axis in `from`.
int64_t size_left(const DimShape& from, const DimShape& shape) {
  auto product = [](const DimShape& sizes) {
    int64_t result = 1;
    for (const Dim& dim : sizes.dims()) {
      if (dim.is_symbol() || dim.size() == -1) continue;
      if (__builtin_mul_overflow(result, dim.size(), &result)) return int64_t(0);
    }
    return result;
  };
  const int64_t all = product(from);
  const int64_t others = product(shape);
  const std::vector<int> symbols = axes_left(from, shape);
  if (others != 0 && all % others == 0) {
    if (symbols.empty()) return all / others;
    if (symbols.size() == 1 && all == others) return size_of_axis(symbols[0]);
  }
  if (!symbols.empty()) {
    raise(invalid_argument("reshape: the -1 in " + to_string(shape) + " would stand for a product with the symbol \"" +
                           from[symbols[0]].name() + "\" of x " + to_string(from) +
                           "; a size is one symbol or one number, so give the symbol its own place in the shape"));
  }
  raise(invalid_argument("reshape: no size in place of -1 in " + to_string(shape) + " gives the elements of x " +
                         to_string(from)));
}

}  // namespace

void add_shape_ops(const AddOp& add) {
  add({.name = "flatten",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = flatten_types,
       .gradient = view_gradient,
       .view = true});
  add({.name = "reshape",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = reshape_types,
       .gradient = view_gradient,
       .view = true});
  add({.name = "reshape_like",
       .inputs_min = 2,
       .inputs_max = 2,
       .shape_rule = reshape_like_types,
       .gradient = view_gradient,
       .shape_only = {1},
       .view = true});
  // stop_gradient is a view of the same shape. Passes, which run after gradients have been taken, remove it.
  add({.name = "stop_gradient",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = [](Types inputs, const Attributes&) -> Outputs { return std::vector{inputs[0]}; },
       .stops_gradient = true,
       .view = true});
  add({.name = "recompute_from",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = [](Types inputs, const Attributes&) -> Outputs { return std::vector{inputs[0]}; },
       .gradient = [](const GradientRequest& request) { return request.output_gradients; },
       .view = true,
       .barrier = true});
}

}  // namespace rules

namespace ops {

Value flatten(Value x, std::string_view name) { return rules::graph_of("flatten", x).add("flatten", {x}, {}, name)[0]; }

Value reshape(Value x, DimShape shape, std::string_view name) {
  Graph& graph = rules::graph_of("reshape", x);
  std::vector<int64_t> sizes;
  bool one_left = false;
  for (const Dim& dim : shape.dims()) {
    const auto& from = x.shape().dims();
    if (dim.is_symbol()) {
      const auto same = std::find(from.begin(), from.end(), dim);
      if (same == from.end()) {
        raise(invalid_argument("reshape: the symbol \"" + dim.name() + "\" of " + to_string(shape) +
                               " must also occur in x " + to_string(x.shape())));
      }
      sizes.push_back(rules::size_of_axis(int(same - from.begin())));
    } else if (dim.size() >= 0) {
      sizes.push_back(dim.size());
    } else if (dim.size() == -1 && !one_left) {
      one_left = true;
      sizes.push_back(rules::size_left(x.shape(), shape));
    } else {
      raise(invalid_argument("reshape: " + to_string(shape) + " has a negative size, or -1 twice"));
    }
  }
  return graph.add("reshape", {x}, {{"shape", std::move(sizes)}}, name)[0];
}

Value reshape_like(Value x, Value like, std::string_view name) {
  return rules::graph_of("reshape_like", x).add("reshape_like", {x, like}, {}, name)[0];
}

Value stop_gradient(Value x, std::string_view name) {
  return rules::graph_of("stop_gradient", x).add("stop_gradient", {x}, {}, name)[0];
}

Value recompute_from(Value x, std::string_view name) {
  return rules::graph_of("recompute_from", x).add("recompute_from", {x}, {}, name)[0];
}

}  // namespace ops
}  // namespace shoal
