// SPDX-License-Identifier: Apache-2.0
/// Indices that come with the data: refused by every backend in the same words, and harmless to the next run.
#include <gtest/gtest.h>

#include <limits>

#include "../backends/run_graph.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

class BackendIndices : public ::testing::TestWithParam<std::string> {
 protected:
  std::string refusal(const Graph& graph, Value value, const Feeds& feeds) {
    Runner runner = value_or_raise(Runner::make(*backend_, graph, {.fetches = {value}}));
    const auto ran = runner.run(feeds);
    return ran ? "accepted" : std::string(to_string(ran.error().kind())) + ": " + ran.error().message();
  }
  std::unique_ptr<Backend> backend_ = backend_or_die(GetParam());
};

TEST_P(BackendIndices, OutOfRangeEndTheStep) {
  Graph graph;
  const Value table = graph.variable("table", {10, 2});
  const Value ids = graph.input("ids", DType::kInt64, {4});
  const Value pairs = graph.input("pairs", DType::kInt32, {3, 2});
  const Value rows = ops::embedding_lookup(table, ids, "lookup");
  const Value more = ops::gather(table, pairs, 0, "more");
  const Value hot = ops::one_hot(ids, {.depth = 10}, "hot");
  const Value gradient = gradients(ops::reduce_sum(rows), {table})[0];
  const Tensor weights = Tensor::zeros(DType::kFloat32, {10, 2});
  for (int64_t wrong : {int64_t{10}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    const Feeds feeds{{"table", weights}, {"ids", Tensor::of<int64_t>({4}, {0, 9, wrong, 3})}};
    const std::string end = "index " + std::to_string(wrong) + " in row 2 is outside [0, 10)";
    EXPECT_EQ(refusal(graph, rows, feeds), "InvalidArgument: gather \"lookup\": " + end);
    EXPECT_EQ(refusal(graph, hot, feeds), "InvalidArgument: one_hot \"hot\": " + end);
    EXPECT_NE(refusal(graph, gradient, feeds).find(end), std::string::npos);
  }
  EXPECT_EQ(refusal(graph, more, {{"table", weights}, {"pairs", Tensor::of<int32_t>({3, 2}, {0, 1, 2, 11, 4, 5})}}),
            "InvalidArgument: gather \"more\": index 11 in row 1, element 1 is outside [0, 10)");
  EXPECT_EQ(refusal(graph, rows, {{"table", weights}, {"ids", Tensor::of<int64_t>({4}, {0, 9, 2, 3})}}), "accepted");
}

TEST_P(BackendIndices, MissingIdsAreLeftOutAndOthersOutOfRangeRefused) {
  Graph graph;
  const Value ids = graph.input("ids", DType::kInt64, {2, 2});
  const Value hot = ops::multi_hot(ids, 10, {}, "hot");
  EXPECT_EQ(refusal(graph, hot, {{"ids", Tensor::of<int64_t>({2, 2}, {0, -1, 9, -1})}}), "accepted");
  EXPECT_EQ(refusal(graph, hot, {{"ids", Tensor::of<int64_t>({2, 2}, {0, -1, 10, -1})}}),
            "InvalidArgument: multi_hot \"hot\": index 10 in row 1, element 0 is outside [0, 10)");
  EXPECT_EQ(refusal(graph, hot, {{"ids", Tensor::of<int64_t>({2, 2}, {0, -2, 9, -1})}}),
            "InvalidArgument: multi_hot \"hot\": index -2 in row 0, element 1 is outside [0, 10)");
}

TEST_P(BackendIndices, BagsLeaveMissingIdsOutAndRefuseOthersOutOfRange) {
  Graph graph;
  const Value ids = graph.input("ids", DType::kInt64, {2, 2});
  const Value table = graph.input("table", DType::kFloat32, {10, 3});
  const Value bag = ops::embedding_bag(table, ids, {}, "bag");
  const Tensor weights(DType::kFloat32, Shape{10, 3});
  const auto said = [&](std::initializer_list<int64_t> given) {
    return refusal(graph, bag, {{"table", weights}, {"ids", Tensor::of<int64_t>({2, 2}, given)}});
  };
  EXPECT_EQ(said({0, -1, 9, -1}), "accepted");
  EXPECT_EQ(said({0, -1, 10, -1}),
            "InvalidArgument: gather \"bag/embedding_lookup\": index 10 in row 1, element 0 is outside [0, 10)");
  EXPECT_EQ(said({0, -2, 9, -1}),
            "InvalidArgument: gather \"bag/embedding_lookup\": index -2 in row 0, element 1 is outside [0, 10)");
}

TEST_P(BackendIndices, ElementsOutOfRangeEndTheStep) {
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {3});
  const auto said = [&](const ops::CheckRangeOptions& options, float element) {
    const Value checked = ops::check_range(x, options, "c" + std::to_string(graph.nodes().size()));
    const std::string text = refusal(graph, checked, {{"x", Tensor::of<float>({3}, {1, 1, element})}});
    return text == "accepted" ? text : text.substr(text.find("\": ") + 3);
  };
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(said({.low = 0, .high = 1, .whole = true, .what = "label"}, 0.5f), "label 0.5 in row 2 is not 0 or 1");
  EXPECT_EQ(said({.low = 0}, -2), "element -2 in row 2 is not a number >= 0");
  EXPECT_EQ(said({.high = 1}, 2), "element 2 in row 2 is not a number <= 1");
  EXPECT_EQ(said({.low = 1, .high = 9, .whole = true}, 10), "element 10 in row 2 is not a whole number in [1, 9]");
  EXPECT_EQ(said({}, std::numeric_limits<float>::quiet_NaN()), "element nan in row 2 is not a number");
  EXPECT_EQ(said({.high = 1, .remedy = "go lower"}, 2), "element 2 in row 2 is not a number <= 1; go lower");
  EXPECT_EQ(said({}, infinity), "accepted");
  EXPECT_EQ(said({.low = 0, .high = 1}, infinity), "element inf in row 2 is not a number in [0, 1]");
}

std::vector<std::string> plug_ins() {
  std::vector<std::string> names;
  for (const BackendEntry& entry : built_in_backends()) names.push_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Conformance, BackendIndices, ::testing::ValuesIn(plug_ins()),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace shoal::backends::testing
