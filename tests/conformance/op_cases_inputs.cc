// SPDX-License-Identifier: Apache-2.0
/// Numbers, ids and labels as they come in; lists of rows.
#include <cmath>

#include "op_cases.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using Values = std::vector<Value>;
using Build = std::function<Values(CaseBuilder&)>;

void add_hot_cases(std::vector<OpCase>& cases) {
  const auto add = [&cases](std::string op, std::string detail, Build build) {
    cases.push_back({std::move(op), std::move(detail), std::move(build), {}});
  };
  for (DType dtype : {DType::kInt64, DType::kInt32}) {
    add("multi_hot", std::string(to_string(dtype)), [dtype](CaseBuilder& b) -> Values {
      return {ops::multi_hot(b.integers("ids", dtype, {3, 2, 5}, 4), 4)};
    });
  }
  add("multi_hot", "missing", [](CaseBuilder& b) -> Values {
    const std::vector<int64_t> ids{2, -1, 2, -1, -1, -1};
    return {ops::multi_hot(b.input("ids", Tensor::of<int64_t>(Shape{2, 3}, std::span<const int64_t>(ids))), 3)};
  });
  add("multi_hot", "weighted", [](CaseBuilder& b) -> Values {
    return {ops::multi_hot(b.integers("ids", DType::kInt64, {7, 5}, 9), 9, b.floats("weights", {7, 5}))};
  });
}

void add_range_cases(std::vector<OpCase>& cases) {
  for (DType dtype : {DType::kInt64, DType::kInt32, DType::kUInt8}) {
    const auto build = [dtype](CaseBuilder& b) -> Values {
      return {ops::check_range(b.integers("x", dtype, {3, 5}, 7), {.low = 0, .high = 6, .whole = true})};
    };
    cases.push_back({"check_range", std::string(to_string(dtype)), build, {}});
  }
  const auto build = [](CaseBuilder& b) -> Values {
    return {ops::check_range(b.floats("x", {4, 3}), {.low = -2, .high = 2})};
  };
  cases.push_back({"check_range", "float32", build, {"x"}});
}

Value ids_of(CaseBuilder& b, std::string name, const Shape& shape, std::vector<int64_t> ids) {
  return b.input(std::move(name), Tensor::of<int64_t>(shape, std::span<const int64_t>(ids)));
}

void add_interval_cases(std::vector<OpCase>& cases) {
  const auto add = [&cases](std::string detail, Build build) {
    cases.push_back({"bucketize", std::move(detail), std::move(build), {}});
  };
  const float nan = std::nanf("");
  add("edges", [nan](CaseBuilder& b) -> Values {
    const Value x = b.input("x", Tensor::of<float>({7}, {-5, 18, 17.99f, 25, 64.5f, 65, nan}));
    return {ops::bucketize(x, b.input("boundaries", Tensor::of<float>({3}, {18, 25, 65})))};
  });
  add("spaced", [](CaseBuilder& b) -> Values {
    return {ops::bucketize(b.floats("x", {5, 3}), b.input("boundaries", Tensor::of<float>({2}, {-0.5f, 0.25f})),
                           {.spacing = 3})};
  });
  add("missing_id", [nan](CaseBuilder& b) -> Values {
    const Value x = b.input("x", Tensor::of<float>({2, 2}, {nan, -1, 2, nan}));
    return {ops::bucketize(x, b.input("boundaries", Tensor::of<float>({1}, {0})), {.spacing = 3, .missing_id = 2})};
  });
  add("no_boundaries", [](CaseBuilder& b) -> Values {
    return {ops::bucketize(b.floats("x", {4}), b.input("boundaries", Tensor(DType::kFloat32, Shape{0})))};
  });
  add("scalar", [](CaseBuilder& b) -> Values {
    return {ops::bucketize(b.floats("x", {}), b.input("boundaries", Tensor::of<float>({1}, {0})), {.spacing = 9})};
  });
}

void add_id_cases(std::vector<OpCase>& cases) {
  const auto add = [&cases](std::string op, std::string detail, Build build) {
    cases.push_back({std::move(op), std::move(detail), std::move(build), {}});
  };
  add("cross_ids", "pairs", [](CaseBuilder& b) -> Values {
    return {ops::cross_ids({b.integers("a", DType::kInt64, {9, 1}, 5), b.integers("b", DType::kInt64, {9, 1}, 1000)}, 17)};
  });
  add("cross_ids", "lists", [](CaseBuilder& b) -> Values {
    return {ops::cross_ids({ids_of(b, "a", {2, 2}, {3, -1, 0, 1}), ids_of(b, "b", {2, 3}, {5, 6, -1, -7, 8, 9}),
                            ids_of(b, "c", {2, 1}, {1, 2})},
                           1000003)};
  });
  add("cross_ids", "nothing", [](CaseBuilder& b) -> Values {
    return {ops::cross_ids({b.integers("a", DType::kInt64, {3, 0}, 5), b.integers("b", DType::kInt64, {3, 2}, 5)}, 7)};
  });
  add("default_ids", "int64", [](CaseBuilder& b) -> Values {
    return {ops::default_ids(ids_of(b, "ids", {2, 3}, {4, 5, -1, -2, 0, 1000}), {.depth = 5, .otherwise = 3})};
  });
  add("default_ids", "int32",
      [](CaseBuilder& b) -> Values { return {ops::default_ids(b.integers("ids", DType::kInt32, {11}, 9), {.depth = 4})}; });
  add("default_ids", "no_padding", [](CaseBuilder& b) -> Values {
    return {ops::default_ids(ids_of(b, "ids", {6}, {4, 5, -1, -2, 0, 1000}),
                             {.depth = 5, .otherwise = 3, .keeps_padding = false})};
  });
}

/// What is combined, and its gradient for the table.
void add_bag_cases(std::vector<OpCase>& cases) {
  const auto add = [&cases](std::string detail, Build build) {
    cases.push_back({"bag_rows", std::move(detail), std::move(build), {"table"}});
  };
  const std::vector<int64_t> lists{2, 0, -1, -1, -1, -1, 4, 4, 1, 0, 3, -1};
  for (const auto& [combiner, name] : {std::pair(ops::Combiner::kSum, "sum"), std::pair(ops::Combiner::kMean, "mean"),
                                       std::pair(ops::Combiner::kSqrtN, "sqrtn")}) {
    add(name, [=](CaseBuilder& b) -> Values {
      return {ops::embedding_bag(b.weights("table", {5, 3}), ids_of(b, "ids", {4, 3}, lists), {.combiner = combiner})};
    });
    add(std::string("weighted_") + name, [=](CaseBuilder& b) -> Values {
      const Value weights = b.input("weights", Tensor::of<float>({4, 3}, {0.5f, 2, 9, 1, 1, 1, -1, 0.25f, 3, 0, 0, 0}));
      return {ops::embedding_bag(b.weights("table", {5, 3}), ids_of(b, "ids", {4, 3}, lists),
                                 {.combiner = combiner, .weights = weights})};
    });
  }
  add("single", [](CaseBuilder& b) -> Values {
    return {ops::embedding_bag(b.weights("table", {4, 2}), ids_of(b, "ids", {3, 1}, {3, -1, 0}))};
  });
  add("of_sequences", [](CaseBuilder& b) -> Values {
    return {ops::embedding_bag(b.weights("table", {4, 2}), b.integers("ids", DType::kInt32, {2, 3, 5}, 4))};
  });
}

}  // namespace

void add_input_cases(std::vector<OpCase>& cases) {
  add_hot_cases(cases);
  add_range_cases(cases);
  add_interval_cases(cases);
  add_id_cases(cases);
  add_bag_cases(cases);
}

}  // namespace shoal::backends::testing
