// SPDX-License-Identifier: Apache-2.0
/// Every op with products in bfloat16, on every backend that takes it: against the emulation of the reference, and against
/// float32.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "op_cases.h"
#include "shoal/graph/op.h"

namespace shoal::backends::testing {
namespace {

constexpr StepKey kKey{.trainer = 3, .ordinal = 41};

struct Bfloat16Case {
  std::string backend;
  const OpCase* op_case;
};

std::vector<Bfloat16Case> all_pairs() {
  std::vector<Bfloat16Case> pairs;
  for (const BackendEntry& entry : built_in_backends()) {
    for (const OpCase& op_case : op_cases()) pairs.push_back({entry.name, &op_case});
  }
  return pairs;
}

class Bfloat16Ops : public ::testing::TestWithParam<Bfloat16Case> {
 protected:
  void SetUp() override {
    if (const auto taken = backend_->check_compute_dtype(DType::kBFloat16); !taken) GTEST_SKIP() << taken.error().message();
    values_ = built_.outputs;
    values_.insert(values_.end(), built_.gradients.begin(), built_.gradients.end());
  }

  std::vector<Tensor> run(Backend& backend, DType compute_dtype, int threads = 1, std::vector<Value> also = {}) {
    std::vector<Value> fetches = values_;
    fetches.insert(fetches.end(), also.begin(), also.end());
    Runner runner = value_or_raise(Runner::make(backend, built_.builder.graph(),
                                                {.fetches = fetches, .threads = threads, .compute_dtype = compute_dtype}));
    EXPECT_EQ(runner.info().numerics.compute_dtype, compute_dtype);
    value_or_raise(runner.run(built_.builder.feeds(), kKey));
    std::vector<Tensor> results;
    for (size_t i = 0; i < values_.size(); ++i) results.push_back(runner.fetched(i));
    return results;
  }

  bool has_products() {
    const auto& nodes = built_.builder.graph().nodes();
    return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
      const OpDef* op = OpCatalogue::built_in().find(node.op);
      return op && op->product;
    });
  }

  /// Floats differ by at most `share` of the largest there is.
  void expect_within(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected, double share) {
    for (size_t i = 0; i < actual.size(); ++i) {
      // An index may differ: after rounding another element may be the largest.
      if (actual[i].dtype() != DType::kFloat32) continue;
      const auto a = actual[i].as<float>(), e = expected[i].as<float>();
      double largest = 0;
      for (float value : e) largest = std::max(largest, std::fabs(double(value)));
      for (size_t k = 0; k < a.size(); ++k) {
        ASSERT_NEAR(a[k], e[k], share * largest + 1e-7) << "value " << i << ", element " << k << ", largest " << largest;
      }
    }
  }

  std::unique_ptr<Backend> backend_ = backend_or_die(GetParam().backend);
  std::unique_ptr<Backend> reference_ = backend_or_die("reference");
  BuiltCase built_{*GetParam().op_case, CaseBuilder::kAllBits};
  std::vector<Value> values_;
};

/// The factors are the same, so is what they are rounded to: sums differ as float32 does. But a value that lies between two
/// numbers of bfloat16 may go up here and down there, where a product takes the result of another one.
TEST_P(Bfloat16Ops, AgreesWithTheEmulationOfTheReference) {
  if (!has_products()) return;
  expect_within(run(*backend_, DType::kBFloat16), run(*reference_, DType::kBFloat16), 1e-5);
}

TEST_P(Bfloat16Ops, AgreesWithFloat32WithinOnePercentOfTheLargest) {
  const auto rounded = run(*backend_, DType::kBFloat16), exact = run(*reference_, DType::kFloat32);
  expect_within(rounded, exact, 1e-2);
}

TEST_P(Bfloat16Ops, LeavesAllButProductsAsTheyAre) {
  if (has_products()) return;
  const auto rounded = run(*backend_, DType::kBFloat16), exact = run(*backend_, DType::kFloat32);
  for (size_t i = 0; i < values_.size(); ++i) EXPECT_TRUE(same_bits(rounded[i], exact[i])) << "value " << i;
}

TEST_P(Bfloat16Ops, EqualRunsGiveEqualBits) {
  for (int threads : {1, 2}) {
    const auto first = run(*backend_, DType::kBFloat16, threads), second = run(*backend_, DType::kBFloat16, threads);
    for (size_t i = 0; i < values_.size(); ++i) EXPECT_TRUE(same_bits(first[i], second[i])) << "value " << i;
  }
}

TEST_P(Bfloat16Ops, FetchesChangeNoBits) {
  Graph& graph = built_.builder.graph();
  std::vector<Value> everything;
  for (NodeId id = 0; id < NodeId(graph.nodes().size()); ++id) {
    for (int output = 0; output < int(graph.node(id).outputs.size()); ++output) everything.emplace_back(&graph, id, output);
  }
  const auto alone = run(*backend_, DType::kBFloat16), together = run(*backend_, DType::kBFloat16, 1, everything);
  for (size_t i = 0; i < values_.size(); ++i) EXPECT_TRUE(same_bits(alone[i], together[i])) << "value " << i;
}

INSTANTIATE_TEST_SUITE_P(Conformance, Bfloat16Ops, ::testing::ValuesIn(all_pairs()), [](const auto& test_info) {
  return test_info.param.backend + "_" + test_info.param.op_case->name();
});

}  // namespace
}  // namespace shoal::backends::testing
