// SPDX-License-Identifier: Apache-2.0
/// A user's own op: shape rule, gradient and kernel in one place, then used like any other on every backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "run_graph.h"
#include "shoal/graph/graph_json.h"
#include "shoal/graph/op.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using Outputs = Result<std::vector<ValueType>>;

/// y = tanh(x), and its gradient dx = dy (1 - y^2) as an op of its own.
OpCatalogue squash_catalogue() {
  OpCatalogue catalogue;
  value_or_raise(catalogue.add({
      .name = "squash",
      .inputs_min = 1,
      .inputs_max = 1,
      .shape_rule = [](std::span<const ValueType> inputs, const Attributes&) -> Outputs {
        if (inputs[0].dtype != DType::kFloat32) return invalid_argument("x must be float32");
        return std::vector{inputs[0]};
      },
      .gradient =
          [](const GradientRequest& request) {
            return request.graph.add("squash_grad", {request.output_gradients[0], request.outputs[0]});
          },
      .in_place = {{0, 0}},
      .kernel = [](const OpCall& call) -> Result<void> {
        const auto x = call.inputs[0].as<float>();
        const auto y = call.outputs[0].as<float>();
        for (size_t i = 0; i < y.size(); ++i) y[i] = std::tanh(x[i]);
        return {};
      },
  }));
  value_or_raise(catalogue.add({
      .name = "squash_grad",
      .inputs_min = 2,
      .inputs_max = 2,
      .shape_rule = [](std::span<const ValueType> inputs, const Attributes&) -> Outputs { return std::vector{inputs[0]}; },
      .kernel = [](const OpCall& call) -> Result<void> {
        const auto dy = call.inputs[0].as<float>();
        const auto y = call.inputs[1].as<float>();
        const auto dx = call.outputs[0].as<float>();
        for (size_t i = 0; i < dx.size(); ++i) dx[i] = dy[i] * (1 - y[i] * y[i]);
        return {};
      },
  }));
  return catalogue;
}

class UserOp : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Backend> backend_ = backend_or_die(GetParam());
};

TEST_P(UserOp, RunsAndDifferentiatesBetweenBuiltInOps) {
  const OpCatalogue catalogue = squash_catalogue();
  Graph graph(RandomKey{0}, &catalogue);
  const Value x = graph.input("x", DType::kFloat32, {3});
  const Value y = graph.add("squash", {ops::scale(x, 2)})[0];
  const Value dx = gradients(ops::reduce_sum(ops::square(y)), {x})[0];
  Runner runner = value_or_raise(Runner::make(*backend_, graph, {.fetches = {y, dx}}));
  value_or_raise(runner.run({{"x", Tensor::of<float>({3}, {-0.5f, 0, 0.25f})}}));
  const float inputs[] = {-0.5f, 0, 0.25f};
  for (size_t i = 0; i < 3; ++i) {
    const double t = std::tanh(2.0 * inputs[i]);
    EXPECT_NEAR(runner.fetched(0).as<float>()[i], t, 1e-6);
    EXPECT_NEAR(runner.fetched(1).as<float>()[i], 2 * t * (1 - t * t) * 2, 1e-6);
  }
  int found = 0;
  for (const auto& kernel : runner.info().kernels) found += kernel.implementation == "reference: user";
  EXPECT_EQ(found, 2);
}

TEST_P(UserOp, IsPartOfADescription) {
  const OpCatalogue catalogue = squash_catalogue();
  Graph graph(RandomKey{0}, &catalogue);
  graph.add("squash", {graph.input("x", DType::kFloat32, {1})});
  const std::string text = graph.to_json();
  EXPECT_TRUE(graph_from_json(text, &catalogue));
  const auto without = graph_from_json(text);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().kind(), ErrorKind::kNotFound);
}

TEST_P(UserOp, ErrorsAndExceptionsOfItsKernelSayWhere) {
  OpCatalogue catalogue;
  auto same = [](std::span<const ValueType> inputs, const Attributes&) -> Outputs { return std::vector{inputs[0]}; };
  value_or_raise(catalogue.add(
      {.name = "fails", .inputs_min = 1, .inputs_max = 1, .shape_rule = same, .kernel = [](const OpCall&) -> Result<void> {
         return invalid_argument("no luck");
       }}));
  value_or_raise(catalogue.add(
      {.name = "throws", .inputs_min = 1, .inputs_max = 1, .shape_rule = same, .kernel = [](const OpCall&) -> Result<void> {
         throw std::runtime_error("oh");
       }}));
  Graph graph(RandomKey{0}, &catalogue);
  const Value x = graph.input("x", DType::kFloat32, {1});
  const auto failed =
      run_once(*backend_, graph, {graph.add("fails", {x}, {}, "a")[0]}, {{"x", Tensor::zeros(DType::kFloat32, {1})}});
  EXPECT_EQ(failed.error(), invalid_argument("fails \"a\": no luck"));
  const auto thrown =
      run_once(*backend_, graph, {graph.add("throws", {x}, {}, "b")[0]}, {{"x", Tensor::zeros(DType::kFloat32, {1})}});
  ASSERT_FALSE(thrown);
  EXPECT_THAT(thrown.error().message(), ::testing::HasSubstr("throws \"b\""));
  EXPECT_THAT(thrown.error().message(), ::testing::HasSubstr("oh"));
}

TEST_P(UserOp, MayBeRandom) {
  OpCatalogue catalogue;
  value_or_raise(catalogue.add(
      {.name = "noise",
       .inputs_min = 1,
       .inputs_max = 1,
       .shape_rule = [](std::span<const ValueType> inputs, const Attributes&) -> Outputs { return std::vector{inputs[0]}; },
       .random = true,
       .kernel = [](const OpCall& call) -> Result<void> {
         fill_uniform(call.sequence, 0, call.outputs[0].as<float>(), 0, 1);
         return {};
       }}));
  Graph graph(RandomKey{4}, &catalogue);
  const Value x = graph.input("x", DType::kFloat32, {5});
  const std::vector<Value> two{graph.add("noise", {x})[0], graph.add("noise", {x})[0]};
  const Feeds feeds{{"x", Tensor::zeros(DType::kFloat32, {5})}};
  auto run = [&](StepKey key) { return value_or_raise(run_once(*backend_, graph, two, feeds, {}, key)); };
  const auto first = run({0, 1});
  const auto again = run({0, 1});
  const auto next = run({0, 2});
  EXPECT_FALSE(same_bits(first[0], first[1])) << "two nodes, two sequences";
  EXPECT_TRUE(same_bits(first[0], again[0]));
  EXPECT_FALSE(same_bits(first[0], next[0]));
}

/// a[i] + b[i + 1], which may be written over a, but not where b is the same value.
TEST_P(UserOp, IsWrittenInPlaceOnlyWhereNobodyElseReads) {
  OpCatalogue catalogue;
  value_or_raise(catalogue.add(
      {.name = "add_next",
       .inputs_min = 2,
       .inputs_max = 2,
       .shape_rule = [](std::span<const ValueType> inputs, const Attributes&) -> Outputs { return std::vector{inputs[0]}; },
       .in_place = {{0, 0}},
       .kernel = [](const OpCall& call) -> Result<void> {
         const auto a = call.inputs[0].as<float>();
         const auto b = call.inputs[1].as<float>();
         const auto y = call.outputs[0].as<float>();
         for (size_t i = 0; i < y.size(); ++i) y[i] = a[i] + b[(i + 1) % b.size()];
         return {};
       }}));
  Graph graph(RandomKey{0}, &catalogue);
  const Value x = graph.input("x", DType::kFloat32, {3});
  const Value a = ops::scale(x, 10);
  Runner same = value_or_raise(Runner::make(*backend_, graph, {.fetches = {graph.add("add_next", {a, a})[0]}}));
  value_or_raise(same.run({{"x", Tensor::of<float>({3}, {1, 2, 3})}}));
  EXPECT_THAT(list<float>(same.fetched(0)), ::testing::ElementsAre(30, 50, 40));
  EXPECT_EQ(same.info().arena_bytes, 128u);
  Runner different = value_or_raise(Runner::make(*backend_, graph, {.fetches = {graph.add("add_next", {a, x})[0]}}));
  value_or_raise(different.run({{"x", Tensor::of<float>({3}, {1, 2, 3})}}));
  EXPECT_THAT(list<float>(different.fetched(0)), ::testing::ElementsAre(12, 23, 31));
  EXPECT_EQ(different.info().arena_bytes, 64u) << "in place";
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const BackendEntry& entry : built_in_backends()) result.push_back(entry.name);
  return result;
}
INSTANTIATE_TEST_SUITE_P(Backends, UserOp, ::testing::ValuesIn(names()),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace shoal::backends::testing
