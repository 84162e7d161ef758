// SPDX-License-Identifier: Apache-2.0
// Recurrent layers and attention.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "graph_runner.h"
#include "shoal/nn/attention.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/optimizers.h"
#include "shoal/nn/recurrent.h"

namespace shoal::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

class SequenceLayers : public testing::Test {
 protected:
  Value sequences(int64_t features) { return graph_.input("x", DType::kFloat32, {batch_, time_, features}); }
  std::string variables() const {
    std::string list;
    for (const Variable& variable : graph_.variables()) list += variable.name + to_string(variable.shape) + " ";
    return list;
  }
  Graph graph_{11};
  Dim batch_ = Dim::symbol("batch"), time_ = Dim::symbol("time");
};

using Lstm = SequenceLayers;
using Gru = SequenceLayers;
using MultiHeadAttention = SequenceLayers;

TEST_F(Lstm, ComputesItsEquations) {
  const ops::Lstm y = lstm(sequences(1), {.units = 1});
  EXPECT_EQ(y.sequence.shape(), (DimShape{batch_, time_, 1}));
  EXPECT_EQ(y.last_cell.shape(), (DimShape{batch_, 1}));
  GraphRunner runner(graph_, {{"batch", 1}, {"time", 2}});
  const Feeds feeds{{"x", floats(Shape{1, 2, 1}, {2, -1})}};
  runner.floats(y.sequence, feeds);  // This makes the variables.
  runner.variable("lstm/kernel") = {0.1f, 0.2f, 0.3f, 0.4f};
  runner.variable("lstm/recurrent_kernel") = {0.5f, -0.6f, 0.7f, -0.8f};
  runner.variable("lstm/bias") = {0.01f, 0.02f, 0.03f, 0.04f};
  float h = 0, c = 0;
  std::vector<float> expected;
  for (const float x : {2.0f, -1.0f}) {
    const float i = sigmoid(0.1f * x + 0.5f * h + 0.01f), f = sigmoid(0.2f * x - 0.6f * h + 0.02f + 1);
    const float g = std::tanh(0.3f * x + 0.7f * h + 0.03f), o = sigmoid(0.4f * x - 0.8f * h + 0.04f);
    c = f * c + i * g;
    h = o * std::tanh(c);
    expected.push_back(h);
  }
  const std::vector<float> sequence = runner.floats(y.sequence, feeds);
  EXPECT_NEAR(sequence[0], expected[0], 1e-6);
  EXPECT_NEAR(sequence[1], expected[1], 1e-6);
  EXPECT_NEAR(runner.number(y.last_hidden, feeds), h, 1e-6);
  EXPECT_NEAR(runner.number(y.last_cell, feeds), c, 1e-6);
}

TEST_F(Lstm, NamesVariablesByLayer) {
  lstm(lstm(sequences(5), {.units = 3}).sequence, {.units = 2, .name = "top"});
  EXPECT_EQ(variables(),
            "lstm/kernel[12, 5] lstm/recurrent_kernel[12, 3] lstm/bias[12] top/kernel[8, 3] top/recurrent_kernel[8, 2] "
            "top/bias[8] ");
}

TEST_F(Lstm, StopsAtLengthsAndRefusesThoseOutOfRange) {
  const Value lengths = graph_.input("lengths", DType::kInt64, {batch_});
  const ops::Lstm y = lstm(sequences(1), {.units = 1, .lengths = lengths});
  GraphRunner runner(graph_, {{"batch", 2}, {"time", 3}});
  Feeds feeds{{"x", floats(Shape{2, 3, 1}, {1, 2, 3, 1, 2, 3})}, {"lengths", Tensor::of<int64_t>({2}, {2, 3})}};
  const std::vector<float> sequence = runner.floats(y.sequence, feeds), last = runner.floats(y.last_hidden, feeds);
  EXPECT_EQ(sequence[2], 0);
  EXPECT_EQ(last[0], sequence[1]);
  EXPECT_EQ(last[1], sequence[5]);
  feeds["lengths"] = Tensor::of<int64_t>({2}, {2, 4});
  EXPECT_THAT(runner.run({y.sequence}, feeds).error().message(), HasSubstr("length 4 in row 1 is outside [0, 3]"));
}

TEST_F(SequenceLayers, RecurrencesDoNotReadBehindLengths) {
  const Value x = sequences(1), lengths = graph_.input("lengths", DType::kInt64, {batch_});
  const ops::Lstm long_memory = lstm(x, {.units = 1, .lengths = lengths});
  const ops::Gru gated = gru(x, {.units = 1, .lengths = lengths});
  GraphRunner runner(graph_, {{"batch", 1}, {"time", 3}});
  const float nan = std::nanf("");
  const Feeds zeros{{"x", floats(Shape{1, 3, 1}, {1, 0, 0})}, {"lengths", Tensor::of<int64_t>({1}, {1})}};
  const Feeds nans{{"x", floats(Shape{1, 3, 1}, {1, nan, nan})}, {"lengths", Tensor::of<int64_t>({1}, {1})}};
  for (const Value& value :
       {long_memory.sequence, long_memory.last_hidden, long_memory.last_cell, gated.sequence, gated.last_hidden}) {
    EXPECT_EQ(runner.floats(value, nans), runner.floats(value, zeros));
  }
}

TEST_F(Lstm, RefusesWhatDoesNotFit) {
  const Value flat = graph_.input("flat", DType::kFloat32, {batch_, 4});
  EXPECT_THAT(raised([&] { lstm(flat, {.units = 2}); }),
              HasSubstr("lstm: expected an input of shape [batch, time, inputs], got [batch, 4]"));
  const Value x = sequences(3);
  EXPECT_THAT(raised([&] { lstm(x, {}); }), HasSubstr("lstm: units is 0"));
  EXPECT_THAT(raised([&] { lstm(x, {.units = 2, .forget_bias = std::nan("")}); }), HasSubstr("forget_bias is nan"));
  EXPECT_THAT(raised([&] {
                lstm(x, {.units = 2, .initial_hidden = graph_.input("h", DType::kFloat32, {batch_, 2})});
              }),
              HasSubstr("initial_hidden and initial_cell belong together"));
}

/// The last element of a sequence says whether its first one was positive: what only the state can carry.
TEST_F(Lstm, LearnsToRemember) {
  const Value x = sequences(1), label = graph_.input("label", DType::kFloat32, {batch_, 1});
  const Value loss = reduce_loss(squared_error({.labels = label, .predictions = lstm(x, {.units = 1}).last_hidden}));
  GraphRunner runner(graph_, {{"batch", 4}, {"time", 6}});
  const Feeds feeds{{"x", floats(Shape{4, 6, 1}, {1,  .1f, -.3f, .2f, .1f,  0,    -1, .1f, -.3f, .2f, .1f,  0,
                                                  -1, .3f, .2f,  .1f, -.1f, -.2f, 1,  .3f, .2f,  .1f, -.1f, -.2f})},
                    {"label", floats(Shape{4, 1}, {.5f, -.5f, -.5f, .5f})}};
  const TrainOp op = adam({.learning_rate = 0.05}).minimize(loss);
  const float before = runner.number(loss, feeds);
  for (int step = 0; step < 200; ++step) runner.train(op, feeds);
  EXPECT_LT(runner.number(loss, feeds), 0.05f * before);
}

TEST_F(Gru, ComputesItsEquations) {
  const ops::Gru y = gru(sequences(1), {.units = 1});
  GraphRunner runner(graph_, {{"batch", 1}, {"time", 2}});
  const Feeds feeds{{"x", floats(Shape{1, 2, 1}, {2, -1})}};
  runner.floats(y.sequence, feeds);  // This makes the variables.
  runner.variable("gru/kernel") = {0.1f, 0.2f, 0.3f};
  runner.variable("gru/recurrent_kernel") = {0.5f, -0.6f, 0.7f};
  runner.variable("gru/bias") = {0.01f, 0.02f, 0.03f};
  runner.variable("gru/recurrent_bias") = {0.1f, -0.2f, 0.4f};
  float h = 0;
  std::vector<float> expected;
  for (const float x : {2.0f, -1.0f}) {
    const float r = sigmoid(0.1f * x + 0.01f + 0.5f * h + 0.1f), z = sigmoid(0.2f * x + 0.02f - 0.6f * h - 0.2f);
    const float proposed = std::tanh(0.3f * x + 0.03f + r * (0.7f * h + 0.4f));
    h = (1 - z) * proposed + z * h;
    expected.push_back(h);
  }
  const std::vector<float> sequence = runner.floats(y.sequence, feeds);
  EXPECT_NEAR(sequence[0], expected[0], 1e-6);
  EXPECT_NEAR(sequence[1], expected[1], 1e-6);
  EXPECT_EQ(runner.number(y.last_hidden, feeds), sequence[1]);
}

TEST_F(Gru, NamesVariablesAndRefusesWhatDoesNotFit) {
  const Value x = sequences(5);
  gru(x, {.units = 3});
  EXPECT_EQ(variables(), "gru/kernel[9, 5] gru/recurrent_kernel[9, 3] gru/bias[9] gru/recurrent_bias[9] ");
  EXPECT_THAT(raised([&] { gru(x, {.units = -1}); }), HasSubstr("gru: units is -1"));
}

TEST_F(MultiHeadAttention, AttendsToItself) {
  const Value x = sequences(4);
  const Value y = multi_head_attention(x, {.heads = 2});
  EXPECT_EQ(y.shape(), (DimShape{batch_, time_, 4}));
  EXPECT_EQ(variables(),
            "attention/projections/kernel[12, 4] attention/projections/bias[12] attention/result/kernel[4, 4] "
            "attention/result/bias[4] ");
  // Fans of one projection, not of the three together.
  EXPECT_NEAR(graph_.find_variable("attention/projections/kernel")->initializer.b, std::sqrt(6.0 / 8), 1e-12);
}

TEST_F(MultiHeadAttention, CausalResultsKnowNothingOfWhatFollows) {
  const Value y = multi_head_attention(sequences(2), {.heads = 1, .causal = true});
  GraphRunner runner(graph_, {{"batch", 1}, {"time", 3}});
  const std::vector<float> a = runner.floats(y, {{"x", floats(Shape{1, 3, 2}, {1, 2, 3, 4, 5, 6})}});
  const std::vector<float> b = runner.floats(y, {{"x", floats(Shape{1, 3, 2}, {1, 2, 3, 4, -7, 9})}});
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(a[i], b[i]);
  EXPECT_NE(a[4], b[4]);
}

TEST_F(MultiHeadAttention, MixesTheValuesOfAMemory) {
  const Value x = sequences(2), memory = graph_.input("memory", DType::kFloat32, {batch_, 2, 1});
  const Value y = multi_head_attention(x, memory, {.heads = 1, .head_size = 1, .units = 1, .use_bias = false});
  EXPECT_EQ(
      variables(),
      "attention/query/kernel[1, 2] attention/key/kernel[1, 1] attention/value/kernel[1, 1] attention/result/kernel[1, "
      "1] ");
  GraphRunner runner(graph_, {{"batch", 1}, {"time", 1}});
  const Feeds feeds{{"x", floats(Shape{1, 1, 2}, {1, 2})}, {"memory", floats(Shape{1, 2, 1}, {0.5f, -1})}};
  runner.floats(y, feeds);
  runner.variable("attention/query/kernel") = {1, 0.5f};  // The query is 2.
  runner.variable("attention/key/kernel") = {3};          // The keys are 1.5 and -3.
  runner.variable("attention/value/kernel") = {10};       // The values are 5 and -10.
  runner.variable("attention/result/kernel") = {0.1f};
  const float p = 1 / (1 + std::exp(-6.0f - 3.0f));  // The softmax of 3 and -6.
  EXPECT_NEAR(runner.number(y, feeds), 0.1f * (p * 5 - (1 - p) * 10), 1e-5);
}

TEST_F(SequenceLayers, RefuseSizesWhoseProductsOverflow) {
  constexpr int64_t kQuarter = (int64_t(1) << 62) + 1;  // 4 * kQuarter is 4, and 3 * kQuarter is negative, modulo 2^64.
  const Value x = sequences(4);
  EXPECT_THAT(raised([&] { lstm(x, {.units = kQuarter}); }), HasSubstr("lstm: units is 4611686018427387905, and 4 times"));
  EXPECT_THAT(raised([&] { gru(x, {.units = kQuarter}); }), HasSubstr("gru: units is 4611686018427387905, and 3 times"));
  EXPECT_THAT(raised([&] { multi_head_attention(x, {.heads = 4, .head_size = kQuarter}); }),
              HasSubstr("attention: head_size is 4611686018427387905, and 4 times"));
  EXPECT_THAT(raised([&] { multi_head_attention(x, x, {.heads = 4, .head_size = kQuarter}); }), HasSubstr("and 4 times"));
  EXPECT_THAT(raised([&] { multi_head_attention(x, {.heads = 1, .head_size = kQuarter}); }),
              HasSubstr("the size of all heads is 4611686018427387905, and 3 times"));
  EXPECT_EQ(variables(), "");
}

TEST_F(MultiHeadAttention, RefusesWhatDoesNotFit) {
  const Value x = sequences(4);
  EXPECT_THAT(raised([&] { multi_head_attention(x, {}); }), HasSubstr("attention: heads is 0"));
  EXPECT_THAT(raised([&] { multi_head_attention(x, {.heads = 3}); }),
              HasSubstr("attention: 3 heads do not divide the 4 features of the input; give head_size"));
  EXPECT_THAT(raised([&] { multi_head_attention(x, {.heads = 2, .head_size = -1}); }), HasSubstr("head_size is -1"));
  const Value flat = graph_.input("flat", DType::kFloat32, {batch_, 4});
  EXPECT_THAT(raised([&] { multi_head_attention(flat, {.heads = 2}); }),
              HasSubstr("expected an input of shape [batch, time, features], got [batch, 4]"));
  EXPECT_THAT(raised([&] { multi_head_attention(x, flat, {.heads = 2}); }),
              HasSubstr("expected an input of shape [batch, positions, features], got [batch, 4]"));
}

}  // namespace
}  // namespace shoal::nn
