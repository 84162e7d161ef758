// SPDX-License-Identifier: Apache-2.0
/// Products in bfloat16: what is rounded, and what is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "run_graph.h"
#include "shoal/graph/op.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kBit = 1.0f / 256;  // 1 + kBit lies half way between two numbers of bfloat16, and becomes 1.

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendEntry& entry : built_in_backends()) names.push_back(entry.name);
  return names;
}

class Bfloat16 : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const auto taken = backend_->check_compute_dtype(DType::kBFloat16); !taken) GTEST_SKIP() << taken.error().message();
  }
  Value feed(const std::string& name, Tensor value) {
    const Value result = graph_.input(name, value.dtype(), value.shape());
    feeds_.emplace(name, std::move(value));
    return result;
  }
  std::vector<float> run(Value value) {
    Runner runner =
        value_or_raise(Runner::make(*backend_, graph_, {.fetches = {value}, .compute_dtype = DType::kBFloat16}));
    value_or_raise(runner.run(feeds_));
    return list<float>(runner.fetched(0));
  }

  std::unique_ptr<Backend> backend_ = backend_or_die(GetParam());
  Graph graph_;
  Feeds feeds_;
};

TEST_P(Bfloat16, RoundsFactorsButNeitherBiasNorSumNorResult) {
  const Value x = feed("x", Tensor::of<float>({1, 2}, {1 + kBit, 256}));
  const Value kernel = feed("kernel", Tensor::of<float>({1, 2}, {1 + kBit, 1}));
  const Value bias = feed("bias", Tensor::of<float>({1}, {kBit * kBit}));
  EXPECT_THAT(run(ops::dense(x, kernel, bias)), ElementsAre(257 + kBit * kBit));  // bfloat16 has 256 and 258, not 257.
}

TEST_P(Bfloat16, GradientsRoundTheirFactorsToo) {
  const Value x = feed("x", Tensor::of<float>({1, 2}, {1 + kBit, 3}));
  const Value kernel = feed("kernel", Tensor::of<float>({1, 2}, {1 + kBit, 5}));
  const Value dy = feed("dy", Tensor::of<float>({1, 1}, {1 + 3 * kBit}));  // 1 + 3 / 256 becomes 1 + 4 / 256.
  const auto dx = gradients(ops::reduce_sum(ops::dense(x, kernel) * dy), {x, kernel});
  EXPECT_THAT(run(dx[0]), ElementsAre(1 + 4 * kBit, 5 * (1 + 4 * kBit)));
  EXPECT_THAT(run(dx[1]), ElementsAre(1 + 4 * kBit, 3 * (1 + 4 * kBit)));
}

TEST_P(Bfloat16, LeavesWhatIsNoProductAlone) {
  const Value x = feed("x", Tensor::of<float>({2, 1}, {1 + kBit, 1}));
  EXPECT_THAT(run(ops::relu(x)), ElementsAre(1 + kBit, 1));
  EXPECT_THAT(run(x * x), ElementsAre((1 + kBit) * (1 + kBit), 1));
  EXPECT_THAT(run(ops::reduce_sum(x)), ElementsAre(2 + kBit));
}

TEST_P(Bfloat16, KeepsInfinityAndNaN) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Value x = feed("x", Tensor::of<float>({3, 1}, {kInfinity, std::nanf(""), std::numeric_limits<float>::max()}));
  const Value one = feed("one", Tensor::of<float>({1, 1}, {1}));
  const auto y = run(ops::matmul(x, one));
  EXPECT_EQ(y[0], kInfinity);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], kInfinity);  // The largest float32 is beyond the largest bfloat16.
}

/// Weights are rounded again when their version changes.
TEST_P(Bfloat16, ReadsWeightsAgainWhenTheirVersionChanges) {
  const Value x = graph_.input("x", DType::kFloat32, {1, 1});
  const Value y = ops::dense(x, graph_.variable("kernel", {1, 1}));
  Runner runner = value_or_raise(Runner::make(*backend_, graph_, {.fetches = {y}, .compute_dtype = DType::kBFloat16}));
  for (const auto& [weight, version] : {std::pair{2.0f, 1}, {3.0f, 2}, {3.0f, 2}, {5.0f, 0}, {7.0f, 0}}) {
    const Tensor kernel = Tensor::of<float>({1, 1}, {weight});
    value_or_raise(runner.run({{"x", Tensor::of<float>({1, 1}, {1})}, {"kernel", kernel}}, {},
                              version ? VersionId{1, uint64_t(version)} : VersionId{}));
    EXPECT_EQ(runner.fetched(0).as<float>()[0], weight);
  }
}

/// A user's own product is emulated: its kernel gets rounded operands.
TEST_P(Bfloat16, AUsersOwnProductGetsRoundedOperands) {
  OpCatalogue catalogue;
  value_or_raise(catalogue.add({
      .name = "outer",
      .inputs_min = 3,
      .inputs_max = 3,
      .shape_rule = [](std::span<const ValueType> inputs, const Attributes&) -> Result<std::vector<ValueType>> {
        return std::vector{inputs[0]};
      },
      .product = true,
      .kernel = [](const OpCall& call) -> Result<void> {
        call.outputs[0].as<float>()[0] =
            call.inputs[0].as<float>()[0] * call.inputs[1].as<float>()[0] + call.inputs[2].as<float>()[0];
        return {};
      },
  }));
  Graph graph(RandomKey{0}, &catalogue);
  const Value x = graph.input("x", DType::kFloat32, {1});
  const Value y = graph.add("outer", {x, x, x})[0];
  Runner runner = value_or_raise(Runner::make(*backend_, graph, {.fetches = {y}, .compute_dtype = DType::kBFloat16}));
  value_or_raise(runner.run({{"x", Tensor::of<float>({1}, {1 + kBit})}}));
  EXPECT_EQ(runner.fetched(0).as<float>()[0], 2 + kBit);
  EXPECT_THAT(runner.info().kernels[0].implementation, HasSubstr("bfloat16"));
}

TEST_P(Bfloat16, IsPartOfTheNumerics) {
  const Value x = feed("x", Tensor::of<float>({1}, {1}));
  Numerics expected = backend_->numerics(1);
  EXPECT_EQ(value_or_raise(backend_->compile(graph_, {.fetches = {ops::relu(x)}}))->info().numerics, expected);
  expected.compute_dtype = DType::kBFloat16;
  const auto program =
      value_or_raise(backend_->compile(graph_, {.fetches = {ops::relu(x)}, .compute_dtype = DType::kBFloat16}));
  EXPECT_EQ(program->info().numerics, expected);
}

TEST_P(Bfloat16, OtherTypesAreRefused) {
  const Value x = feed("x", Tensor::of<float>({1}, {1}));
  for (DType dtype : {DType::kFloat16, DType::kInt32}) {
    const auto program = backend_->compile(graph_, {.fetches = {ops::relu(x)}, .compute_dtype = dtype});
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().kind(), ErrorKind::kFailedPrecondition);
    EXPECT_EQ(program.error().message(), "backend \"" + GetParam() + "\" does not compute in " +
                                             std::string(to_string(dtype)) + "; float32 is there everywhere");
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Bfloat16, ::testing::ValuesIn(backend_names()),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace shoal::backends::testing
