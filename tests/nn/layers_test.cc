// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "graph_runner.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/conv2d.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/dropout.h"
#include "shoal/nn/flatten.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/pooling.h"

namespace shoal::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, std::span<const float>(values));
}

std::vector<std::string> variable_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Variable& variable : graph.variables()) names.push_back(variable.name);
  return names;
}

class Layers : public testing::Test {
 protected:
  Value rows(int64_t size) { return graph_.input("x", DType::kFloat32, {batch_, size}); }
  Value images(int64_t height, int64_t width, int64_t channels) {
    return graph_.input("x", DType::kFloat32, {batch_, height, width, channels});
  }
  const Variable& variable(std::string_view name) {
    const Variable* found = graph_.find_variable(name);
    EXPECT_NE(found, nullptr) << name;
    return *found;
  }
  Graph graph_{11};
  Dim batch_ = Dim::symbol("batch");
};

using Dense = Layers;
using Conv2d = Layers;
using Pooling = Layers;
using Dropout = Layers;
using Regularizers = Layers;

TEST_F(Dense, MultipliesAddsAndActivates) {
  const Value y = dense(rows(2), {.units = 3, .activation = Activation::kRelu});
  EXPECT_EQ(y.shape(), (DimShape{batch_, 3}));
  GraphRunner runner(graph_, {{"batch", 2}});
  const Feeds feeds{{"x", floats(Shape{2, 2}, {1, 2, -1, 0})}};
  runner.floats(y, feeds);  // This makes the variables.
  runner.variable("dense/kernel") = {1, 2, 3, 4, -5, -6};
  runner.variable("dense/bias") = {0.5f, 0, 1};
  EXPECT_THAT(runner.floats(y, feeds), ElementsAre(5.5f, 11, 0, 0, 0, 6));
}

TEST_F(Dense, TakesEachPositionOfASequenceForItself) {
  const Value x = graph_.input("x", DType::kFloat32, {batch_, Dim::symbol("time"), 2});
  const Value y = dense(x, {.units = 1});
  EXPECT_EQ(y.shape(), (DimShape{batch_, Dim::symbol("time"), 1}));
  GraphRunner runner(graph_, {{"batch", 1}, {"time", 3}});
  const Feeds feeds{{"x", floats(Shape{1, 3, 2}, {1, 2, 3, 4, 5, 6})}};
  runner.floats(y, feeds);
  runner.variable("dense/kernel") = {10, 1};
  EXPECT_THAT(runner.floats(y, feeds), ElementsAre(12, 34, 56));
}

TEST_F(Dense, NamesVariablesByLayer) {
  const Value y = dense(dense(rows(4), {.units = 3}), {.units = 2, .use_bias = false});
  dense(y, {.units = 2, .name = "logits"});
  EXPECT_THAT(variable_names(graph_),
              ElementsAre("dense/kernel", "dense/bias", "dense_1/kernel", "logits/kernel", "logits/bias"));
  EXPECT_EQ(variable("dense/kernel").shape, (Shape{3, 4}));
  EXPECT_EQ(variable("dense/bias").shape, Shape{3});
}

TEST_F(Dense, StartsGlorotUniformWithoutBias) {
  dense(rows(300), {.units = 100, .trainable = false});
  const double limit = std::sqrt(6.0 / 400);
  EXPECT_EQ(variable("dense/kernel").initializer.kind, Initializer::Kind::kUniform);
  EXPECT_NEAR(variable("dense/kernel").initializer.b, limit, 1e-12);
  EXPECT_EQ(variable("dense/bias").initializer, (Initializer{Initializer::Kind::kConstant, 0, 0}));
  EXPECT_FALSE(variable("dense/kernel").trainable);
}

TEST_F(Dense, TakesOtherInitializers) {
  dense(rows(50), {.units = 2, .kernel_initializer = he_normal(), .bias_initializer = constant(0.1)});
  EXPECT_EQ(variable("dense/kernel").initializer.kind, Initializer::Kind::kTruncatedNormal);
  EXPECT_EQ(variable("dense/bias").initializer.a, 0.1);
}

TEST_F(Dense, RefusesInputsThatDoNotFit) {
  const Value flat = graph_.input("flat", DType::kFloat32, {batch_});
  const Value ids = graph_.input("ids", DType::kInt64, {batch_, 2});
  const Value open = graph_.input("open", DType::kFloat32, {batch_, Dim::symbol("features")});
  EXPECT_THAT(raised([&] { dense(flat, {.units = 2}); }),
              HasSubstr("dense: expected an input of shape [batch, ..., inputs], got [batch]"));
  EXPECT_THAT(raised([&] { dense(ids, {.units = 2}); }), HasSubstr("expected a float32 input, got int64"));
  EXPECT_THAT(raised([&] { dense(open, {.units = 2}); }), HasSubstr("has to be a number"));
  EXPECT_THAT(raised([&] { dense(Value(), {.units = 2}); }), HasSubstr("no value of a graph"));
  const Value x = graph_.input("good", DType::kFloat32, {batch_, 2});
  EXPECT_THAT(raised([&] { dense(x, {.name = "out"}); }), HasSubstr("out: units is 0"));
  EXPECT_THAT(raised([&] { dense(x, {.units = 1, .kernel_initializer = uniform(1, 0)}); }), HasSubstr("low is above high"));
}

TEST_F(Conv2d, ConvolvesWithSamePadding) {
  const Value y = conv2d(images(3, 3, 1), {.filters = 1, .kernel = 3, .padding = Padding::same()});
  EXPECT_EQ(y.shape(), (DimShape{batch_, 3, 3, 1}));
  GraphRunner runner(graph_, {{"batch", 1}});
  const Feeds feeds{{"x", floats(Shape{1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9})}};
  runner.floats(y, feeds);
  runner.variable("conv2d/kernel").assign(9, 1);
  runner.variable("conv2d/bias") = {100};
  // Each output is the sum of its neighbourhood.
  EXPECT_THAT(runner.floats(y, feeds), ElementsAre(112, 121, 116, 127, 145, 133, 124, 139, 128));
}

TEST_F(Conv2d, HasTheSizesOfItsWindows) {
  const Value x = images(28, 28, 3);
  EXPECT_EQ(conv2d(x, {.filters = 8, .kernel = 5}).shape(), (DimShape{batch_, 24, 24, 8}));
  EXPECT_EQ(conv2d(x, {.filters = 8, .kernel = {3, 5}, .strides = 2}).shape(), (DimShape{batch_, 13, 12, 8}));
  EXPECT_EQ(conv2d(x, {.filters = 8, .strides = 3, .padding = Padding::same()}).shape(), (DimShape{batch_, 10, 10, 8}));
  EXPECT_EQ(variable("conv2d_1/kernel").shape, (Shape{8, 3, 3, 5}));
  EXPECT_NEAR(variable("conv2d_1/kernel").initializer.b, std::sqrt(6.0 / (3 * 15 + 8 * 15)), 1e-12);
}

TEST_F(Conv2d, RefusesWhatDoesNotFit) {
  const Value x = images(4, 4, 1);
  const Value flat = graph_.input("flat", DType::kFloat32, {batch_, 4});
  EXPECT_THAT(raised([&] { conv2d(flat, {.filters = 1}); }),
              HasSubstr("expected an input of shape [batch, height, width, channels]"));
  EXPECT_THAT(raised([&] { conv2d(x, {}); }), HasSubstr("filters is 0"));
  EXPECT_THAT(raised([&] { conv2d(x, {.filters = 1, .kernel = 0}); }), HasSubstr("kernel's height is 0"));
  EXPECT_THAT(raised([&] { conv2d(x, {.filters = 1, .strides = {1, 0}}); }), HasSubstr("stride right is 0"));
  EXPECT_THAT(raised([&] { conv2d(x, {.filters = 1, .kernel = 5}); }), HasSubstr("InvalidArgument"));
}

TEST_F(Conv2d, SkipsPixelsWhenDilated) {
  const Value y = conv2d(images(3, 3, 1), {.filters = 1, .kernel = 2, .dilation = 2, .use_bias = false});
  EXPECT_EQ(y.shape(), (DimShape{batch_, 1, 1, 1}));
  GraphRunner runner(graph_, {{"batch", 1}});
  const Feeds feeds{{"x", floats(Shape{1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9})}};
  runner.floats(y, feeds);
  runner.variable("conv2d/kernel") = {1, 10, 100, 1000};
  EXPECT_THAT(runner.floats(y, feeds), ElementsAre(1 + 30 + 700 + 9000));
}

TEST_F(Conv2d, KeepsGroupsApart) {
  const Value y = conv2d(images(1, 1, 4), {.filters = 2, .kernel = 1, .groups = 2, .use_bias = false});
  EXPECT_EQ(variable("conv2d/kernel").shape, (Shape{2, 2, 1, 1}));
  EXPECT_NEAR(variable("conv2d/kernel").initializer.b, std::sqrt(6.0 / (2 + 1)), 1e-12);
  GraphRunner runner(graph_, {{"batch", 1}});
  const Feeds feeds{{"x", floats(Shape{1, 1, 1, 4}, {1, 2, 3, 4})}};
  runner.floats(y, feeds);
  runner.variable("conv2d/kernel") = {1, 10, 100, 1000};
  EXPECT_THAT(runner.floats(y, feeds), ElementsAre(21, 4300));
}

TEST_F(Conv2d, GoesDepthwise) {
  const Value y = depthwise_conv2d(images(2, 1, 2), {.multiplier = 2, .kernel = {2, 1}});
  EXPECT_EQ(y.shape(), (DimShape{batch_, 1, 1, 4}));
  EXPECT_EQ(variable("depthwise_conv2d/kernel").shape, (Shape{4, 1, 2, 1}));
  GraphRunner runner(graph_, {{"batch", 1}});
  const Feeds feeds{{"x", floats(Shape{1, 2, 1, 2}, {1, 2, 3, 4})}};
  runner.floats(y, feeds);
  runner.variable("depthwise_conv2d/kernel") = {1, 1, 1, 10, 1, 1, 1, 10};
  runner.variable("depthwise_conv2d/bias") = {0, 0, 0, 0.5f};
  EXPECT_THAT(runner.floats(y, feeds), ElementsAre(4, 31, 6, 42.5f));
}

TEST_F(Conv2d, GoesAlongOneAxis) {
  const Value x = graph_.input("x", DType::kFloat32, {batch_, 4, 1});
  const Value image = graph_.input("image", DType::kFloat32, {batch_, 1, 4, 1});
  const Value y = conv1d(x, {.filters = 1, .kernel = 2, .stride = 2, .use_bias = false});
  EXPECT_EQ(y.shape(), (DimShape{batch_, 2, 1}));
  EXPECT_EQ(variable("conv1d/kernel").shape, (Shape{1, 1, 2}));
  GraphRunner runner(graph_, {{"batch", 1}});
  const Feeds feeds{{"x", floats(Shape{1, 4, 1}, {1, 2, 3, 4})}};
  runner.floats(y, feeds);
  runner.variable("conv1d/kernel") = {1, 10};
  EXPECT_THAT(runner.floats(y, feeds), ElementsAre(21, 43));
  EXPECT_THAT(raised([&] { conv1d(image, {.filters = 1}); }), HasSubstr("expected an input of shape [batch, width,"));
}

TEST_F(Conv2d, GoesTheOtherWay) {
  const Value x = graph_.input("x", DType::kFloat32, {batch_, 1, 2, 1});
  const Value image = graph_.input("image", DType::kFloat32, {batch_, 7, 5, 6});
  const Value y = conv2d_transpose(x, {.filters = 1, .kernel = {1, 3}, .strides = {1, 2}});
  EXPECT_EQ(y.shape(), (DimShape{batch_, 1, 5, 1}));
  GraphRunner runner(graph_, {{"batch", 1}});
  const Feeds feeds{{"x", floats(Shape{1, 1, 2, 1}, {1, 10})}};
  runner.floats(y, feeds);
  runner.variable("conv2d_transpose/kernel") = {1, 2, 3};
  runner.variable("conv2d_transpose/bias") = {100};
  EXPECT_THAT(runner.floats(y, feeds), ElementsAre(101, 102, 113, 120, 130));
  EXPECT_EQ(conv2d_transpose(image, {.filters = 4, .strides = 2, .padding = Padding::same(), .groups = 2}).shape(),
            (DimShape{batch_, 14, 10, 4}));
  EXPECT_EQ(variable("conv2d_transpose_1/kernel").shape, (Shape{6, 2, 3, 3}));
}

TEST_F(Conv2d, RefusesSizesThatNoMachineHolds) {
  constexpr int64_t kHuge = (int64_t(1) << 32) + 3;  // Truncated to an int it is 3; its square overflows an int64_t.
  EXPECT_EQ(Extent(kHuge).height, kHuge);
  const Value x = graph_.input("huge", DType::kFloat32, {batch_, 8, 8, 2});
  const auto refused = HasSubstr("it has more bytes than any machine");
  EXPECT_THAT(raised([&] { conv2d(x, {.filters = 1, .kernel = kHuge}); }), refused);
  EXPECT_THAT(raised([&] { conv2d_transpose(x, {.filters = 1, .kernel = kHuge}); }), refused);
  EXPECT_THAT(raised([&] { depthwise_conv2d(x, {.multiplier = (int64_t(1) << 62) + 1}); }),
              HasSubstr("multiplier is 4611686018427387905, and 2 times"));
}

TEST_F(Conv2d, RefusesGroupsAndDilationsThatDoNotFit) {
  const Value x = images(4, 4, 6);
  EXPECT_THAT(raised([&] { conv2d(x, {.filters = 4, .groups = 4}); }),
              HasSubstr("groups is 4, which has to divide the 6 channels and the 4 filters"));
  EXPECT_THAT(raised([&] { conv2d(x, {.filters = 4, .groups = 0}); }), HasSubstr("groups is 0"));
  EXPECT_THAT(raised([&] { conv2d(x, {.filters = 4, .dilation = {1, 0}}); }), HasSubstr("dilation right is 0"));
  EXPECT_THAT(raised([&] { conv2d_transpose(x, {.filters = 4, .padding = Padding::explicit_sizes(9, 9, 0, 0)}); }),
              HasSubstr("the padding removes more than the image has"));
}

TEST_F(Pooling, TakesWholeImages) {
  const Value x = images(1, 3, 2);
  const Value largest = global_max_pool(x), mean = global_avg_pool(x);
  EXPECT_EQ(largest.shape(), (DimShape{batch_, 2}));
  GraphRunner runner(graph_, {{"batch", 1}});
  const Feeds feeds{{"x", floats(Shape{1, 1, 3, 2}, {1, 2, 9, 4, 5, -3})}};
  EXPECT_THAT(runner.floats(largest, feeds), ElementsAre(9, 4));
  EXPECT_THAT(runner.floats(mean, feeds), ElementsAre(5, 1));
  EXPECT_THAT(raised([&] {
                global_avg_pool(graph_.input("flat", DType::kFloat32, {batch_, 4}));
              }),
              HasSubstr("expected an input of shape [batch, height, width, channels]"));
}

TEST_F(Pooling, TakesMaximumAndMean) {
  const Value x = images(4, 4, 1);
  const Value largest = max_pool(x), mean = avg_pool(x, {.window = 3, .strides = 2, .padding = Padding::same()});
  EXPECT_EQ(largest.shape(), (DimShape{batch_, 2, 2, 1}));
  GraphRunner runner(graph_, {{"batch", 1}});
  const Feeds feeds{{"x", floats(Shape{1, 4, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})}};
  EXPECT_THAT(runner.floats(largest, feeds), ElementsAre(6, 8, 14, 16));
  // Same padding of 4 by windows of 3 every 2: one row and column, at the bottom and the right, not counted.
  EXPECT_THAT(runner.floats(mean, feeds), ElementsAre(6, 7.5f, 12, 13.5f));
}

TEST_F(Pooling, OverlapsOnlyIfTold) {
  const Value x = images(9, 9, 2);
  EXPECT_EQ(max_pool(x, {.window = 3}).shape(), (DimShape{batch_, 3, 3, 2}));
  EXPECT_EQ(max_pool(x, {.window = 3, .strides = 1}).shape(), (DimShape{batch_, 7, 7, 2}));
}

TEST_F(Pooling, RefusesWhatDoesNotFit) {
  const Value flat = graph_.input("flat", DType::kFloat32, {batch_, 4});
  const Value x = images(4, 4, 1);
  EXPECT_THAT(raised([&] { max_pool(flat); }), HasSubstr("max_pool: expected an input of shape"));
  EXPECT_THAT(raised([&] { avg_pool(x, {.window = 0}); }), HasSubstr("avg_pool: the window's height is 0"));
  EXPECT_THAT(raised([&] { max_pool(x, {.window = 5}); }), HasSubstr("InvalidArgument"));
}

TEST_F(Layers, FlattenKeepsTheBatch) { EXPECT_EQ(flatten(images(4, 3, 2)).shape(), (DimShape{batch_, 24})); }

TEST_F(Dropout, DoesNothingOutsideTraining) {
  const Value x = rows(4);
  EXPECT_EQ(dropout(x, Mode::kEval, {.rate = 0.5}), x);
  EXPECT_EQ(dropout(x, Mode::kPredict, {.rate = 0.5}), x);
  EXPECT_EQ(dropout(x, Mode::kTrain, {.rate = 0}), x);
}

TEST_F(Dropout, DropsTheStatedPartAndKeepsTheMean) {
  const Value y = dropout(rows(1000), Mode::kTrain, {.rate = 0.3});
  GraphRunner runner(graph_, {{"batch", 20}});
  const Feeds feeds{{"x", floats(Shape{20, 1000}, std::vector<float>(20000, 1))}};
  const std::vector<float> first = runner.floats(y, feeds, 1), again = runner.floats(y, feeds, 1);
  const std::vector<float> next = runner.floats(y, feeds, 2);
  const auto dropped = double(std::ranges::count(first, 0.0f));
  EXPECT_NEAR(dropped / 20000, 0.3, 5 * std::sqrt(0.3 * 0.7 / 20000));
  for (const float value : first) {
    if (value != 0) {
      ASSERT_NEAR(value, 1 / 0.7, 1e-6);
    }
  }
  EXPECT_EQ(first, again);
  EXPECT_NE(first, next);
}

TEST_F(Dropout, RefusesRatesOutsideTheRange) {
  const Value x = rows(4);
  for (const double rate : {-0.1, 1.0, std::nan("")}) {
    EXPECT_THAT(raised([&] { dropout(x, Mode::kTrain, {.rate = rate}); }), HasSubstr("dropout: rate is")) << rate;
    EXPECT_THAT(raised([&] { dropout(x, Mode::kEval, {.rate = rate}); }), HasSubstr("dropout: rate is")) << rate;
  }
}

TEST_F(Regularizers, AddTheirPenaltyAndItsGradient) {
  const Value y =
      dense(rows(2), {.units = 2, .kernel_regularizer = {.l1 = 0.5, .l2 = 0.25}, .bias_regularizer = {.l2 = 2}});
  ASSERT_EQ(graph_.regularization_losses().size(), 3u);
  const Value penalty = regularization_loss(graph_);
  const Variable& kernel = variable("dense/kernel");
  const Value slope = gradients(penalty, {Value(&graph_, kernel.node, 0)}).at(0);
  GraphRunner runner(graph_, {{"batch", 1}});
  runner.number(penalty);
  runner.variable("dense/kernel") = {1, -2, 0, 3};
  runner.variable("dense/bias") = {1, 2};
  EXPECT_FLOAT_EQ(runner.number(penalty), 0.5f * 6 + 0.25f * 14 + 2 * 5);
  EXPECT_THAT(runner.floats(slope), ElementsAre(0.5f + 0.5f, -0.5f - 1, 0, 0.5f + 1.5f));
  EXPECT_TRUE(y.valid());
}

TEST_F(Regularizers, NoneIsTheDefault) {
  dense(rows(2), {.units = 2});
  EXPECT_TRUE(graph_.regularization_losses().empty());
  EXPECT_FALSE(regularization_loss(graph_).valid());
}

TEST_F(Regularizers, RefuseNegativeFactors) {
  const Value x = rows(2);
  EXPECT_THAT(raised([&] { dense(x, {.units = 2, .kernel_regularizer = {.l2 = -1}}); }), HasSubstr("factor is -1"));
  EXPECT_THAT(raised([&] { dense(x, {.units = 2, .kernel_regularizer = {.l1 = std::nan("")}}); }), HasSubstr("factor is"));
}

}  // namespace
}  // namespace shoal::nn
