// SPDX-License-Identifier: Apache-2.0
// Positions and transformer blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph_runner.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/optimizers.h"
#include "shoal/nn/transformer.h"

namespace shoal::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, std::span<const float>(values));
}

class Transformer : public testing::Test {
 protected:
  Value sequences(int64_t time, int64_t features) {
    return graph_.input("x", DType::kFloat32, {Dim::symbol("batch"), time, features});
  }
  std::string variables() const {
    std::string list;
    for (const Variable& variable : graph_.variables()) list += variable.name + to_string(variable.shape) + " ";
    return list;
  }
  Graph graph_{11};
};

TEST_F(Transformer, PositionsAreAddedToEverySequence) {
  const Value y = position_embedding(sequences(2, 1), {.positions_max = 3});
  EXPECT_EQ(variables(), "position_embedding/table[3, 1] ");
  GraphRunner runner(graph_, {{"batch", 2}});
  const Feeds feeds{{"x", floats(Shape{2, 2, 1}, {1, 2, 3, 4})}};
  runner.floats(y, feeds);  // This makes the variables.
  runner.variable("position_embedding/table") = {10, 20, 30};
  EXPECT_THAT(runner.floats(y, feeds), ElementsAre(11, 22, 13, 24));
}

TEST_F(Transformer, OnlyTheRowsOfTheSequenceLearn) {
  const Value y = position_embedding(sequences(2, 1), {.positions_max = 3, .initializer = zeros()});
  GraphRunner runner(graph_, {{"batch", 2}});
  runner.train(sgd({.learning_rate = 1}).minimize(ops::reduce_sum(y)), {{"x", floats(Shape{2, 2, 1}, {1, 2, 3, 4})}});
  EXPECT_THAT(runner.variable("position_embedding/table"), ElementsAre(-2, -2, 0));
}

TEST_F(Transformer, RefusesSequencesThatAreTooLong) {
  EXPECT_THAT(raised([&] { position_embedding(sequences(4, 1), {.positions_max = 3}); }),
              HasSubstr("position_embedding: the input [batch, 4, 1] is longer than positions_max, 3"));
}

TEST_F(Transformer, ABlockNamesItsVariables) {
  const Value y = transformer_block(sequences(3, 4), Mode::kTrain, {.heads = 2});
  EXPECT_EQ(to_string(y.shape()), "[batch, 3, 4]");
  EXPECT_EQ(variables(),
            "block/layer_norm/scale[4] block/layer_norm/shift[4] block/attention/projections/kernel[12, 4] "
            "block/attention/projections/bias[12] block/attention/result/kernel[4, 4] block/attention/result/bias[4] "
            "block/layer_norm_1/scale[4] block/layer_norm_1/shift[4] block/feed_forward/kernel[16, 4] "
            "block/feed_forward/bias[16] block/feed_forward_result/kernel[4, 16] block/feed_forward_result/bias[4] ");
}

TEST_F(Transformer, ABlockWithoutWeightsIsTheIdentity) {
  const Value y = transformer_block(sequences(2, 2), Mode::kEval, {.heads = 1, .kernel_initializer = zeros()});
  GraphRunner runner(graph_, {{"batch", 1}});
  EXPECT_THAT(runner.floats(y, {{"x", floats(Shape{1, 2, 2}, {1, 2, -3, 5})}}), ElementsAre(1, 2, -3, 5));
}

TEST_F(Transformer, CausalBlocksKnowNothingOfWhatFollows) {
  const Value once = transformer_block(sequences(3, 2), Mode::kEval, {.heads = 1, .causal = true});
  const Value y = transformer_block(once, Mode::kEval, {.heads = 1, .causal = true});
  GraphRunner runner(graph_, {{"batch", 1}});
  const std::vector<float> a = runner.floats(y, {{"x", floats(Shape{1, 3, 2}, {1, 2, 3, 4, 5, -6})}});
  const std::vector<float> b = runner.floats(y, {{"x", floats(Shape{1, 3, 2}, {1, 2, 3, 4, -7, 9})}});
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(a[i], b[i]);
  EXPECT_NE(a[4], b[4]);
}

TEST_F(Transformer, RefusesWhatDoesNotFit) {
  const Value x = sequences(3, 4);
  EXPECT_THAT(raised([&] { transformer_block(x, Mode::kTrain, {}); }), HasSubstr("heads is 0"));
  EXPECT_THAT(raised([&] { transformer_block(x, Mode::kTrain, {.heads = 1, .dropout = 1}); }), HasSubstr("rate is"));
}

}  // namespace
}  // namespace shoal::nn
