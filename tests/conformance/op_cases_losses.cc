// SPDX-License-Identifier: Apache-2.0
/// Cross-entropies.
#include "op_cases.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using Values = std::vector<Value>;
using Names = std::vector<std::string>;

OpCase softmax_case(std::string detail, Shape logits, double smoothing, bool differentiable = true) {
  auto build = [logits, smoothing](CaseBuilder& b) -> Values {
    std::vector<int64_t> rows(logits.dims().begin(), logits.dims().end() - 1);
    const Value labels = b.integers("labels", DType::kInt64, Shape(rows), logits[logits.rank() - 1]);
    const auto result = ops::softmax_cross_entropy({.labels = labels, .logits = b.floats("x", logits) * 2.0},
                                                   {.label_smoothing = smoothing});
    return {result.loss, result.softmax};
  };
  return {"softmax_cross_entropy", std::move(detail), build, differentiable ? Names{"x"} : Names{}};
}

}  // namespace

void add_loss_cases(std::vector<OpCase>& cases) {
  cases.push_back(softmax_case("rank3", {2, 3, 5}, 0));
  cases.push_back(softmax_case("rank4", {2, 1, 3, 4}, 0));
  cases.push_back(softmax_case("smoothed", {5, 7}, 0.1));
  cases.push_back(softmax_case("smoothed_one_class", {3, 1}, 0.5));
  cases.push_back(softmax_case("smoothed_rank3", {3, 4, 9}, 0.3));
  cases.push_back(softmax_case("smoothed_long", {37, 1031}, 0.2, false));
  cases.push_back(softmax_case("empty_rank3", {0, 3, 5}, 0.1));
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{5, 3}, Shape{0, 2}, Shape{1031}}) {
    cases.push_back({"sigmoid_cross_entropy",
                     "rank" + std::to_string(shape.rank()) + "_of_" + std::to_string(shape.elements()),
                     [shape](CaseBuilder& b) -> Values {
                       const Value labels = b.floats("labels", shape) * 0.5 + 0.5;
                       return {ops::sigmoid_cross_entropy({.labels = labels, .logits = b.floats("x", shape) * 2.0})};
                     },
                     shape.elements() < 100 ? Names{"x", "labels"} : Names{}});
  }
  cases.push_back({"sigmoid_cross_entropy",
                   "far_out",
                   [](CaseBuilder& b) -> Values {
                     const Value labels = ops::cast(b.integers("labels", DType::kInt32, {101}, 2), DType::kFloat32);
                     return {ops::sigmoid_cross_entropy({.labels = labels, .logits = b.floats("x", {101}) * 200.0})};
                   },
                   {}});
}

}  // namespace shoal::backends::testing
