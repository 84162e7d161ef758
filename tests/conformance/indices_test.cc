/// Indices that come with the data: refused by every backend in the same words, and harmless to the next run.
#include <gtest/gtest.h>

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

std::vector<std::string> plug_ins() {
  std::vector<std::string> names;
  for (const BackendEntry& entry : built_in_backends()) names.push_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Conformance, BackendIndices, ::testing::ValuesIn(plug_ins()),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace shoal::backends::testing
