// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/normalization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph_runner.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/conv2d.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/optimizers.h"
#include "shoal/nn/residual.h"

namespace shoal::nn {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

class Normalization : public testing::Test {
 protected:
  Value rows(int64_t channels) { return graph_.input("x", DType::kFloat32, {batch_, channels}); }
  Graph graph_{11};
  Dim batch_ = Dim::symbol("batch");
};

using BatchNorm = Normalization;
using LayerNorm = Normalization;
using GroupNorm = Normalization;
using ResidualBlock = Normalization;

// Channel 0 has mean 2 and variance 1 (2 as an estimate from two), channel 1 mean 10 and variance 16 (32).
const Feeds kTwoRows{{"x", floats(Shape{2, 2}, {1, 6, 3, 14})}};

TEST_F(BatchNorm, NormalizesByTheBatchInTraining) {
  const Value y = batch_norm(rows(2), Mode::kTrain, {.epsilon = 1e-9});
  EXPECT_EQ(y.shape(), (DimShape{batch_, 2}));
  GraphRunner runner(graph_, {{"batch", 2}});
  runner.floats(y, kTwoRows);
  runner.variable("batch_norm/scale") = {2, 3};
  runner.variable("batch_norm/shift") = {0, 100};
  EXPECT_THAT(runner.floats(y, kTwoRows), Pointwise(FloatNear(1e-4f), std::vector<float>{-2, 97, 2, 103}));
}

TEST_F(BatchNorm, NormalizesByMovingAveragesOtherwise) {
  for (Mode mode : {Mode::kEval, Mode::kPredict}) {
    Graph graph(1);
    const Value y = batch_norm(graph.input("x", DType::kFloat32, {batch_, 2}), mode,
                               {.epsilon = 1e-9, .activation = Activation::kRelu});
    EXPECT_TRUE(graph.moving_averages().empty());
    GraphRunner runner(graph, {{"batch", 2}});
    EXPECT_THAT(runner.floats(y, kTwoRows), ElementsAre(1, 6, 3, 14)) << "a mean of 0 and a variance of 1 to start with";
    runner.variable("batch_norm/moving_mean") = {2, 10};
    runner.variable("batch_norm/moving_variance") = {4, 0.25f};
    EXPECT_THAT(runner.floats(y, kTwoRows), Pointwise(FloatNear(1e-5f), std::vector<float>{0, 0, 0.5f, 8}));
  }
}

TEST_F(BatchNorm, MinimizeUpdatesTheMovingAverages) {
  const Value y = batch_norm(rows(2), Mode::kTrain, {.decay = 0.75});
  const TrainOp op = sgd({.learning_rate = 0.5}).minimize(ops::reduce_sum(y));
  GraphRunner runner(graph_, {{"batch", 2}});
  runner.train(op, kTwoRows);
  EXPECT_THAT(runner.variable("batch_norm/moving_mean"), ElementsAre(0.5f, 2.5f));
  EXPECT_THAT(runner.variable("batch_norm/moving_variance"), ElementsAre(0.75f + 0.5f, 0.75f + 8));
  EXPECT_THAT(runner.variable("batch_norm/shift"), ElementsAre(-1, -1)) << "the sum grows by 1 with each of two rows";
  runner.train(op, kTwoRows);
  EXPECT_THAT(runner.variable("batch_norm/moving_mean"), ElementsAre(0.875f, 4.375f));
}

TEST_F(BatchNorm, TwoOptimizersOfOneGraphAverageOnce) {
  const Value y = batch_norm(dense(rows(2), {.units = 2}), Mode::kTrain);
  const Value loss = ops::reduce_sum(ops::square(y));
  const TrainOp both = group({sgd().minimize(loss, {"dense/kernel"}), adam().minimize(loss, {"batch_norm/shift"})});
  const auto averages = std::ranges::count(both.updates, UpdateRule::Kind::kMovingAverage,
                                           [](const VariableUpdate& update) { return update.rule.kind; });
  EXPECT_EQ(averages, 2);
  EXPECT_EQ(both.updates.size(), 4u);
}

TEST_F(BatchNorm, NamesItsVariables) {
  const Value x = rows(3);
  batch_norm(x, Mode::kTrain);
  batch_norm(x, Mode::kTrain, {.use_scale = false, .use_shift = false, .name = "plain"});
  EXPECT_THAT(names_of_variables(graph_),
              ElementsAre("batch_norm/scale", "batch_norm/shift", "batch_norm/moving_mean", "batch_norm/moving_variance",
                          "plain/moving_mean", "plain/moving_variance"));
  EXPECT_TRUE(graph_.find_variable("batch_norm/scale")->trainable);
  EXPECT_FALSE(graph_.find_variable("batch_norm/moving_variance")->trainable);
  EXPECT_EQ(graph_.find_variable("batch_norm/moving_variance")->initializer.a, 1);
}

TEST_F(BatchNorm, StaysAsItIsWhenFrozen) {
  const Value y = batch_norm(rows(2), Mode::kTrain, {.epsilon = 1e-9, .trainable = false});
  EXPECT_TRUE(graph_.moving_averages().empty());
  EXPECT_FALSE(graph_.find_variable("batch_norm/scale")->trainable);
  GraphRunner runner(graph_, {{"batch", 2}});
  EXPECT_THAT(runner.floats(y, kTwoRows), ElementsAre(1, 6, 3, 14));
}

TEST_F(BatchNorm, RefusesWhatDoesNotFit) {
  const Value x = rows(2);
  const Value flat = graph_.input("flat", DType::kFloat32, {batch_});
  const Value ids = graph_.input("ids", DType::kInt64, {batch_, 2});
  EXPECT_THAT(raised([&] { batch_norm(flat, Mode::kTrain); }),
              HasSubstr("batch_norm: expected an input of shape [batch, ..., channels], got [batch]"));
  EXPECT_THAT(raised([&] { batch_norm(ids, Mode::kTrain); }), HasSubstr("expected a float32 input, got int64"));
  EXPECT_THAT(raised([&] { batch_norm(Value(), Mode::kTrain); }), HasSubstr("no value of a graph"));
  EXPECT_THAT(raised([&] { batch_norm(x, Mode::kTrain, {.decay = 1.5}); }), HasSubstr("decay is 1.5"));
  EXPECT_THAT(raised([&] { batch_norm(x, Mode::kTrain, {.epsilon = 0}); }), HasSubstr("epsilon is 0"));
}

TEST_F(LayerNorm, NormalizesEachRow) {
  const Value x = graph_.input("x", DType::kFloat32, {batch_, 1, 2});
  const Value y = layer_norm(x, {.epsilon = 1e-9});
  EXPECT_EQ(y.shape(), (DimShape{batch_, 1, 2}));
  GraphRunner runner(graph_, {{"batch", 2}});
  const Feeds feeds{{"x", floats(Shape{2, 1, 2}, {1, 3, 30, 10})}};
  runner.floats(y, feeds);
  runner.variable("layer_norm/scale") = {1, 2};
  runner.variable("layer_norm/shift") = {0.5f, 0};
  EXPECT_THAT(runner.floats(y, feeds), Pointwise(FloatNear(1e-5f), std::vector<float>{-0.5f, 2, 1.5f, -2}));
  EXPECT_THAT(raised([&] { layer_norm(x, {.epsilon = -1}); }), HasSubstr("epsilon is -1"));
}

TEST_F(LayerNorm, CanDoWithoutWeights) {
  layer_norm(rows(4), {.use_scale = false, .use_shift = false});
  EXPECT_TRUE(graph_.variables().empty());
}

TEST_F(GroupNorm, NormalizesEachGroupOfEachExample) {
  const Value x = graph_.input("x", DType::kFloat32, {batch_, 2, 2});
  const Value y = group_norm(x, {.groups = 2, .epsilon = 1e-9});
  GraphRunner runner(graph_, {{"batch", 1}});
  EXPECT_THAT(runner.floats(y, {{"x", floats(Shape{1, 2, 2}, {1, 40, 3, 20})}}),
              Pointwise(FloatNear(1e-5f), std::vector<float>{-1, 1, 1, -1}));
  EXPECT_THAT(raised([&] { group_norm(x, {.groups = 3}); }),
              HasSubstr("groups is 3, which does not divide the 2 channels"));
}

TEST_F(ResidualBlock, KeepsTheShapeByDefault) {
  const Value x = graph_.input("x", DType::kFloat32, {batch_, 8, 6, 4});
  EXPECT_EQ(residual_block(x, Mode::kTrain, {.filters = 4}).shape(), (DimShape{batch_, 8, 6, 4}));
  EXPECT_THAT(names_of_variables(graph_),
              ElementsAre("residual/conv2d/kernel", "residual/batch_norm/scale", "residual/batch_norm/shift",
                          "residual/batch_norm/moving_mean", "residual/batch_norm/moving_variance",
                          "residual/conv2d_1/kernel", "residual/batch_norm_1/scale", "residual/batch_norm_1/shift",
                          "residual/batch_norm_1/moving_mean", "residual/batch_norm_1/moving_variance"));
  EXPECT_EQ(graph_.moving_averages().size(), 4u);
}

TEST_F(ResidualBlock, ProjectsWhereShapesDiffer) {
  const Value x = graph_.input("x", DType::kFloat32, {batch_, 7, 6, 4});
  EXPECT_EQ(residual_block(x, Mode::kTrain, {.filters = 8, .strides = 2}).shape(), (DimShape{batch_, 4, 3, 8}));
  EXPECT_EQ(graph_.find_variable("residual/shortcut/kernel")->shape, (Shape{8, 4, 1, 1}));
  EXPECT_NE(graph_.find_variable("residual/shortcut_norm/scale"), nullptr);
}

TEST_F(ResidualBlock, AddsItsInput) {
  const Value x = graph_.input("x", DType::kFloat32, {batch_, 2, 2, 1});
  const Value y = residual_block(x, Mode::kTrain, {.filters = 1});
  GraphRunner runner(graph_, {{"batch", 1}});
  const Feeds feeds{{"x", floats(Shape{1, 2, 2, 1}, {1, -2, 3, 4})}};
  runner.floats(y, feeds);
  runner.variable("residual/batch_norm_1/scale") = {0};  // The branch gives its shift only.
  runner.variable("residual/batch_norm_1/shift") = {1};
  EXPECT_THAT(runner.floats(y, feeds), ElementsAre(2, 0, 4, 5));
}

}  // namespace
}  // namespace shoal::nn
