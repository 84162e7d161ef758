// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/train_op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "graph_runner.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/optimizers.h"

namespace shoal::nn {
namespace {

using testing::HasSubstr;
using Kind = UpdateRule::Kind;

TEST(TrainOp, ACountingModelOnlyAdvancesTheStep) {
  Graph graph;
  const TrainOp op = train_op({});
  EXPECT_TRUE(op.updates.empty());
  GraphRunner runner(graph);
  runner.train(op);
  runner.train(op);
  EXPECT_EQ(runner.global_step(), 2u);
}

TEST(TrainOp, AssignAddAndAverageDoWhatTheySay) {
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {2});
  const Value last = graph.variable("last", Shape{2}), sum = graph.variable("sum", Shape{2});
  const Value average = graph.variable("average", Shape{2});
  const TrainOp op = train_op({.updates = {assign(last, x), assign_add(sum, x), moving_average(average, x, 0.75)}});
  GraphRunner runner(graph);
  runner.train(op, {{"x", Tensor::of<float>(Shape{2}, {1, 2})}});
  runner.train(op, {{"x", Tensor::of<float>(Shape{2}, {10, 20})}});
  EXPECT_EQ(runner.variable("last"), (std::vector<float>{10, 20}));
  EXPECT_EQ(runner.variable("sum"), (std::vector<float>{11, 22}));
  EXPECT_EQ(runner.variable("average"), (std::vector<float>{0.75f * 0.25f + 2.5f, 0.75f * 0.5f + 5}));
}

TEST(TrainOp, AMovingAverageFollowsTheWeightOneStepBehind) {
  Graph graph;
  const Value w = graph.variable("w", Shape{}), average = graph.variable("average", Shape{});
  const TrainOp op = train_op({.updates = {assign_add(w, graph.constant(4.0f)), moving_average(average, w, 0.5)}});
  GraphRunner runner(graph);
  runner.train(op);
  EXPECT_EQ(runner.variable("average")[0], 0.0f) << "w was 0 before the step";
  runner.train(op);
  EXPECT_EQ(runner.variable("average")[0], 2.0f);
}

TEST(TrainOp, ScalarsOfAStepAreChecked) {
  Graph graph;
  const Value w = graph.variable("w", Shape{}), sum = graph.variable("sum", Shape{});
  const auto refusal = [](const TrainOp& op) {
    std::vector<double> scalars(op.scalars.size());
    const Result<void> computed = compute_scalars(op, 3, {}, scalars);
    return computed ? "" : std::string(to_string(computed.error().kind())) + ": " + computed.error().message();
  };
  const auto of_rate = [&](LearningRate rate) {
    return refusal(sgd({.learning_rate = std::move(rate)}).minimize(ops::square(w)));
  };
  const auto always = [](double number) { return [number](uint64_t) { return number; }; };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
  const std::string advice = " at global step 3; a rate has to be finite and at least 0";
  EXPECT_EQ(of_rate(always(0)), "");
  EXPECT_EQ(of_rate(always(-0.1)), "InvalidArgument: learning_rate is -0.1" + advice);
  EXPECT_EQ(of_rate(always(kNan)), "InvalidArgument: learning_rate is nan" + advice);
  EXPECT_EQ(of_rate(always(-kNan)), "InvalidArgument: learning_rate is nan" + advice);
  EXPECT_EQ(of_rate(always(kInfinity)), "InvalidArgument: learning_rate is inf" + advice);
  EXPECT_THAT(of_rate([](uint64_t step) -> double { throw std::out_of_range("no rate for " + std::to_string(step)); }),
              HasSubstr("learning_rate threw an exception: no rate for 3"));
  // A scalar that is no learning rate may be negative.
  const auto of_other = [&](double number) {
    return refusal(train_op({.updates = {assign_add(sum, w)}, .scalars = {{"offset", always(number)}}}));
  };
  EXPECT_EQ(of_other(-1), "");
  EXPECT_EQ(of_other(-kInfinity), "InvalidArgument: offset is -inf at global step 3; it has to be finite");
}

TEST(TrainOp, GroupsKeepEachOptimizersRate) {
  Graph graph;
  const Value a = graph.variable("a", Shape{}), b = graph.variable("b", Shape{}), steps = graph.variable("steps", Shape{});
  const Value loss = ops::square(a - graph.constant(1.0f)) + ops::square(b - graph.constant(1.0f));
  const TrainOp op = group({sgd({.learning_rate = 0.5}).minimize(loss, {"a"}),
                            train_op({.updates = {assign_add(steps, graph.constant(1.0f))}}),
                            sgd({.learning_rate = 0.25}).minimize(loss, {"b"})});
  ASSERT_EQ(op.scalars.size(), 2u);
  EXPECT_TRUE(op.advances_global_step);
  GraphRunner runner(graph);
  runner.train(op);
  EXPECT_EQ(runner.variable("a")[0], 1.0f);
  EXPECT_EQ(runner.variable("b")[0], 0.5f);
  EXPECT_EQ(runner.variable("steps")[0], 1.0f);
  EXPECT_EQ(runner.global_step(), 1u);
}

TEST(TrainOp, ASlotMayNotHaveTheNameOfAVariable) {
  Graph graph;
  const Value gate = graph.variable("gate", Shape{}), other = graph.variable("gate/m", Shape{});
  const auto minimize = [&](Value variable) {
    try {
      adam().minimize(variable * variable);
    } catch (const Exception& refused) {
      return refused.error().message();
    }
    return std::string();
  };
  EXPECT_THAT(minimize(gate), HasSubstr("update of gate: its rule keeps the slot gate/m"));
  EXPECT_EQ(minimize(other), "");
}

TEST(TrainOp, RefusesPartsThatDoNotFit) {
  Graph graph, other;
  graph.variable("w", Shape{2});
  graph.variable("count", Shape{2}, {.dtype = DType::kInt64});
  const Value x = graph.input("x", DType::kFloat32, {2}), wide = graph.input("wide", DType::kFloat32, {3});
  const Value ids = graph.input("ids", DType::kInt64, {2});
  const Value stranger = other.input("x", DType::kFloat32, {2});
  const auto refusal = [](std::vector<VariableUpdate> updates) {
    return raised([&] { (void)train_op({.updates = updates}); });
  };
  const UpdateRule add{.kind = Kind::kAdd};
  EXPECT_EQ(refusal({{"w", x, add}}), "");
  EXPECT_THAT(refusal({{"v", x, add}}), HasSubstr("update of v: the graph has no variable"));
  EXPECT_THAT(refusal({{"w", x, add}, {"w", x, add}}), HasSubstr("w is updated twice"));
  EXPECT_THAT(refusal({{"w", wide, add}}), HasSubstr("has shape [3], the variable [2]"));
  EXPECT_THAT(refusal({{"w", ids, add}}), HasSubstr("the variable is float32, the update int64"));
  EXPECT_THAT(refusal({{"count", ids, add}}), HasSubstr("the variable is int64"));
  EXPECT_THAT(refusal({{"w", x, add}, {"w", stranger, add}}), HasSubstr("belongs to another graph"));
  EXPECT_THAT(refusal({{"w", Value(), add}}), HasSubstr("is no value of a graph"));
  EXPECT_THAT(refusal({{"w", x, {.kind = Kind::kMovingAverage, .constants = {2}}}}), HasSubstr("decay is 2"));
  EXPECT_THAT(refusal({{"w", x, {.kind = Kind::kSgd}}}), HasSubstr("scalar number 0, but there are only 0"));
  EXPECT_THAT(raised([&] { assign(x, x); }), HasSubstr("assign: expected a variable"));
  EXPECT_THAT(raised([&] { assign_add(Value(), x); }), HasSubstr("assign_add: expected a variable"));
  EXPECT_THAT(raised([&] { (void)group({}); }), HasSubstr("no train ops"));
  EXPECT_THAT(raised([&] {
                (void)train_op({.updates = {}, .scalars = {{"rate", nullptr}}});
              }),
              HasSubstr("rate has no function"));
  EXPECT_THAT(refusal({{"w", x, {.kind = Kind::kAdd, .gradient_scale_scalar = 0}}}),
              HasSubstr("gradient scale is scalar number 0"));
  const auto scalar_refusal = [&](StepScalar scalar) {
    return raised([&] { (void)train_op({.updates = {{"w", x, add}}, .scalars = {scalar}}); });
  };
  const auto same = [](float value) { return double(value); };
  const Value number = ops::reduce_sum(x), elsewhere = ops::reduce_sum(stranger);
  EXPECT_EQ(scalar_refusal({.name = "s", .at = {}, .value = number, .of_value = same}), "");
  EXPECT_THAT(scalar_refusal({.name = "s", .at = {}, .value = number}), HasSubstr("it needs of_value"));
  EXPECT_THAT(scalar_refusal({.name = "s", .at = [](uint64_t) { return 1.0; }, .value = number, .of_value = same}),
              HasSubstr("no other function"));
  EXPECT_THAT(scalar_refusal({.name = "s", .at = {}, .value = x, .of_value = same}), HasSubstr("not from float32 [2]"));
  EXPECT_THAT(scalar_refusal({.name = "s", .at = {}, .value = elsewhere, .of_value = same}), HasSubstr("another graph"));
}

}  // namespace
}  // namespace shoal::nn
