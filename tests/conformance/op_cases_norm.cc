// SPDX-License-Identifier: Apache-2.0
/// Cases of the normalizing ops.
#include "op_cases.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using Cases = std::vector<OpCase>;
using Values = std::vector<Value>;

/// x (away from 0, so that a row of one channel has no kink there), scale and shift; `make` applies the op.
template <class Make>
OpCase norm_case(std::string op, std::string detail, Shape x, Make make) {
  auto build = [=](CaseBuilder& b) -> Values {
    const Shape channels{x[x.rank() - 1]};
    const Value in = b.floats("x", x);
    const Value scale = b.weights("scale", channels);
    return {make(in, scale, b.weights("shift", channels))};
  };
  return {.op = std::move(op), .detail = std::move(detail), .build = build, .differentiable = {"x", "scale", "shift"}};
}

// Finite differences step by 1/32, so variances must not be tiny: an epsilon of 0.1 keeps the curvature low.
constexpr double kEpsilon = 0.1;

/// Inputs with a mean far from 0 beside their deviation, where sums of squares alone would cancel.
Value far_from_zero(CaseBuilder& b, std::string name, Shape shape) {
  return b.floats(std::move(name), shape) + b.graph().constant([&] {
    Tensor far(DType::kFloat32, shape);
    for (float& value : far.mutable_as<float>()) value = 1000.0f;
    return far;
  }());
}

void add_batch_norm(Cases& cases) {
  auto train = [](Value x, Value scale, Value shift) { return ops::batch_norm(x, scale, shift, {.epsilon = kEpsilon}).y; };
  const std::vector<std::pair<std::string, Shape>> shapes{
      {"image", {2, 3, 4, 5}}, {"rows", {7, 3}},      {"one_channel", {5, 2, 2, 1}},
      {"one_row", {1, 4}},     {"two_rows", {2, 17}}, {"more_than_a_strip", {13, 5, 5, 3}},
      {"wide", {3, 300}},
  };
  for (const auto& [detail, shape] : shapes) cases.push_back(norm_case("batch_norm", detail, shape, train));
  // Each of these takes several blocks.
  for (const Shape& shape : {Shape{16, 17, 16, 16}, Shape{40000, 1}, Shape{37, 2, 2, 520}}) {
    cases.push_back({"batch_norm",
                     "large_" + std::to_string(shape[0]),
                     [shape](CaseBuilder& b) -> Values {
                       const Value x = b.floats("x", shape), scale = b.weights("scale", {shape[shape.rank() - 1]});
                       const auto norm = ops::batch_norm(x, scale, b.weights("shift", {shape[shape.rank() - 1]}));
                       const Value loss = ops::reduce_sum(ops::square(norm.y) * b.floats("weights", shape));
                       const auto gradients = shoal::gradients(loss, {x, scale});
                       return {norm.y, norm.mean, norm.variance, gradients[0], gradients[1]};
                     },
                     {}});
  }
  cases.push_back(
      {"batch_norm",
       "moments",
       [](CaseBuilder& b) -> Values {
         const auto norm = ops::batch_norm(b.floats("x", {6, 2, 3, 9}), b.weights("scale", {9}), b.weights("shift", {9}));
         return {norm.mean, norm.variance};
       },
       {}});
  cases.push_back({"batch_norm",
                   "far_from_zero",
                   [](CaseBuilder& b) -> Values {
                     const auto norm = ops::batch_norm(far_from_zero(b, "x", {50, 3, 5, 4}), b.weights("scale", {4}),
                                                       b.weights("shift", {4}));
                     return {norm.variance};
                   },
                   {}});
  cases.push_back(
      {"batch_norm",
       "relu",
       [](CaseBuilder& b) -> Values {
         const Value x = b.floats("x", {9, 3, 5, 6});
         const Value scale = b.weights("scale", {6}), shift = b.weights("shift", {6});
         const Value y = ops::relu(ops::batch_norm(x, scale, shift).y);
         auto values = shoal::gradients(ops::reduce_sum(y * b.floats("weights", {9, 3, 5, 6})), {x, scale, shift});
         values.push_back(y);
         return values;
       },
       {}});
  for (bool addend_first : {false, true}) {
    cases.push_back({"batch_norm",
                     addend_first ? "add_relu_swapped" : "add_relu",
                     [addend_first](CaseBuilder& b) -> Values {
                       const Value x = b.floats("x", {4, 5, 3, 16}), addend = b.floats("addend", {4, 5, 3, 16});
                       const Value scale = b.weights("scale", {16}), shift = b.weights("shift", {16});
                       const Value norm = ops::batch_norm(x, scale, shift).y;
                       const Value y = ops::relu(addend_first ? addend + norm : norm + addend);
                       auto values = shoal::gradients(ops::reduce_sum(y * b.floats("weights", {4, 5, 3, 16})),
                                                      {x, addend, scale, shift});
                       values.push_back(y);
                       return values;
                     },
                     {}});
  }
}

void add_batch_norm_inference(Cases& cases) {
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{1, 1}, Shape{7, 33}, Shape{4, 40, 10, 16}}) {
    auto build = [shape](CaseBuilder& b) -> Values {
      const Shape channels{shape[shape.rank() - 1]};
      const Value x = b.floats("x", shape), scale = b.weights("scale", channels), shift = b.weights("shift", channels);
      const Value mean = b.weights("mean", channels), variance = ops::square(b.weights("deviation", channels));
      return {ops::batch_norm_inference(x, scale, shift, {.mean = mean, .variance = variance}, {.epsilon = kEpsilon})};
    };
    cases.push_back({"batch_norm_inference", "of_" + std::to_string(shape.elements()), build, {"x", "scale", "shift"}});
  }
  cases.push_back({"batch_norm_inference",
                   "relu",
                   [](CaseBuilder& b) -> Values {
                     const Value x = b.floats("x", {3, 4, 4, 7}), scale = b.weights("scale", {7});
                     const Value y = ops::relu(ops::batch_norm_inference(
                         x, scale, b.weights("shift", {7}),
                         {.mean = b.weights("mean", {7}), .variance = ops::square(b.weights("deviation", {7}))}));
                     return {y, shoal::gradients(ops::reduce_sum(y), {x})[0]};
                   },
                   {}});
}

void add_layer_norm(Cases& cases) {
  auto norm = [](Value x, Value scale, Value shift) { return ops::layer_norm(x, scale, shift, {.epsilon = kEpsilon}); };
  const std::vector<std::pair<std::string, Shape>> shapes{
      {"row", {5}},       {"rows", {4, 7}},      {"one_channel", {3, 1}}, {"sequence", {2, 3, 33}}, {"image", {2, 2, 3, 4}},
      {"wide", {3, 130}}, {"many_rows", {70, 6}}};
  for (const auto& [detail, shape] : shapes) cases.push_back(norm_case("layer_norm", detail, shape, norm));
  cases.push_back(
      {"layer_norm",
       "large",
       [](CaseBuilder& b) -> Values {
         const Value x = b.floats("x", {9000, 20}), scale = b.weights("scale", {20});
         const Value y = ops::layer_norm(x, scale, b.weights("shift", {20}));
         const auto gradients = shoal::gradients(ops::reduce_sum(y * b.floats("weights", {9000, 20})), {x, scale});
         return {y, gradients[0], gradients[1]};
       },
       {}});
}

void add_group_norm(Cases& cases) {
  auto of = [&](std::string detail, Shape shape, int64_t groups) {
    cases.push_back(norm_case("group_norm", std::move(detail), shape, [groups](Value x, Value scale, Value shift) {
      return ops::group_norm(x, scale, shift, {.groups = groups, .epsilon = kEpsilon});
    }));
  };
  of("two_groups", {2, 3, 4, 6}, 2);
  of("one_group", {3, 2, 2, 5}, 1);
  of("instances", {2, 3, 3, 4}, 4);
  of("no_positions", {4, 8}, 2);
  of("sequence", {2, 7, 6}, 3);
  of("one_element", {2, 1, 1, 1}, 1);
  cases.push_back({"group_norm",
                   "large",
                   [](CaseBuilder& b) -> Values {
                     const Shape shape{5, 33, 40, 12};
                     const Value x = b.floats("x", shape), scale = b.weights("scale", {12});
                     const Value y = ops::group_norm(x, scale, b.weights("shift", {12}), {.groups = 4});
                     const auto gradients = shoal::gradients(ops::reduce_sum(y * b.floats("weights", shape)), {x, scale});
                     return {y, gradients[0], gradients[1]};
                   },
                   {}});
}

}  // namespace

void add_norm_cases(Cases& cases) {
  add_batch_norm(cases);
  add_batch_norm_inference(cases);
  add_layer_norm(cases);
  add_group_norm(cases);
}

}  // namespace shoal::backends::testing
