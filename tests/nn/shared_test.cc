// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/shared.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "graph_runner.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/dropout.h"
#include "shoal/nn/embedding.h"
#include "shoal/nn/normalization.h"
#include "shoal/nn/optimizers.h"

namespace shoal::nn {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

class SharedLayers : public testing::Test {
 protected:
  Value rows(const std::string& name, int64_t size = 2) { return graph_.input(name, DType::kFloat32, {batch_, size}); }
  Graph graph_{11};
  Dim batch_ = Dim::symbol("batch");
};

/// One row of a, two of b.
const Feeds kFeeds{{"a", floats(Shape{2, 2}, {1, -2, 0.5f, 3})}, {"b", floats(Shape{2, 2}, {-1, 4, 2, 0.25f})}};

TEST_F(SharedLayers, HaveTheVariablesOfTheFirstCall) {
  Shared tower("tower", [](Value x) { return dense(dense(x, {.units = 3}), {.units = 1}); });
  const Value first = tower(rows("a")), second = tower(rows("b")), beside = dense(rows("c"), {.units = 1});
  EXPECT_THAT(names_of_variables(graph_), ElementsAre("tower/dense/kernel", "tower/dense/bias", "tower/dense_1/kernel",
                                                      "tower/dense_1/bias", "dense/kernel", "dense/bias"));
  GraphRunner runner(graph_, {{"batch", 2}});
  const Feeds swapped{{"a", kFeeds.at("b")}, {"b", kFeeds.at("a")}};
  EXPECT_EQ(runner.floats(first, kFeeds), runner.floats(second, swapped));
  EXPECT_EQ(runner.floats(second, kFeeds), runner.floats(first, swapped));
  EXPECT_NE(runner.floats(first, kFeeds), runner.floats(second, kFeeds));
  EXPECT_TRUE(beside.valid());
}

/// Against central differences, each weight by itself.
TEST_F(SharedLayers, GradientsOfAllCallsAddUp) {
  Shared tower("tower", [](Value x) { return dense(x, {.units = 2, .activation = Activation::kTanh}); });
  const Value distance = ops::sub(tower(rows("a")), tower(rows("b")));
  const Value loss = ops::reduce_sum(ops::square(distance));
  std::vector<Value> weights;
  for (const Variable& variable : graph_.variables()) weights.emplace_back(&graph_, variable.node, 0);
  const std::vector<Value> slopes = gradients(loss, weights);
  GraphRunner runner(graph_, {{"batch", 2}});
  runner.number(loss, kFeeds);  // This makes the variables.
  for (size_t i = 0; i < slopes.size(); ++i) {
    std::vector<float>& weight = runner.variable(graph_.variables()[i].name);
    const std::vector<float> slope = runner.floats(slopes[i], kFeeds);
    for (size_t k = 0; k < weight.size(); ++k) {
      const float kept = weight[k], step = 0.005f;
      weight[k] = kept + step;
      const float above = runner.number(loss, kFeeds);
      weight[k] = kept - step;
      const float below = runner.number(loss, kFeeds);
      weight[k] = kept;
      EXPECT_NEAR(slope[k], (above - below) / (2 * step), 2e-3) << graph_.variables()[i].name << " " << k;
    }
  }
}

TEST_F(SharedLayers, CountTheirPenaltyOnce) {
  Shared tower("tower", [](Value x) { return dense(x, {.units = 3, .kernel_regularizer = {.l2 = 0.1}}); });
  tower(rows("a"));
  tower(rows("b"));
  EXPECT_EQ(graph_.regularization_losses().size(), 1u);
}

/// Decay 0.75; the means of the columns are 0.75 and 0.5 in a, 0.5 and 2.125 in b, and a comes first.
TEST_F(SharedLayers, TakeTurnsInMovingAverages) {
  Shared tower("tower", [](Value x) { return batch_norm(x, Mode::kTrain, {.decay = 0.75}); });
  const Value first = tower(rows("a"));
  const Value loss = ops::reduce_sum(ops::add(first, tower(rows("b"))));
  ASSERT_EQ(graph_.moving_averages().size(), 2u);
  const TrainOp op = sgd({.learning_rate = 0.5}).minimize(loss);
  GraphRunner runner(graph_, {{"batch", 2}});
  std::vector<float> expected{0, 0};
  for (int step = 0; step < 2; ++step) {
    runner.train(op, kFeeds);
    for (const std::vector<float>& mean : {std::vector<float>{0.75f, 0.5f}, {0.5f, 2.125f}}) {
      for (size_t i = 0; i < 2; ++i) expected[i] = 0.75f * expected[i] + 0.25f * mean[i];
    }
    EXPECT_THAT(runner.variable("tower/batch_norm/moving_mean"), Pointwise(FloatNear(1e-6f), expected)) << step;
  }
}

TEST_F(SharedLayers, KeepMovingAveragesThatNeverMove) {
  Shared tower("tower", [](Value x) { return batch_norm(x, Mode::kTrain, {.decay = 1}); });
  const TrainOp op = sgd().minimize(ops::reduce_sum(ops::add(tower(rows("a")), tower(rows("b")))));
  GraphRunner runner(graph_, {{"batch", 2}});
  runner.train(op, kFeeds);
  EXPECT_THAT(runner.variable("tower/batch_norm/moving_mean"), ElementsAre(0, 0));
}

TEST_F(SharedLayers, MayBeWithinSharedLayers) {
  Shared outer("outer", [](Value x) {
    Shared inner("inner", [](Value y) { return dense(y, {.units = 2}); });
    return inner(inner(dense(x, {.units = 2})));
  });
  const auto scope = graph_.scope("model");
  const Value first = outer(rows("a")), second = outer(rows("b"));
  EXPECT_THAT(names_of_variables(graph_), ElementsAre("model/outer/dense/kernel", "model/outer/dense/bias",
                                                      "model/outer/inner/dense/kernel", "model/outer/inner/dense/bias"));
  GraphRunner runner(graph_, {{"batch", 2}});
  const Feeds same{{"model/a", kFeeds.at("a")}, {"model/b", kFeeds.at("a")}};
  EXPECT_EQ(runner.floats(first, same), runner.floats(second, same));
}

TEST_F(SharedLayers, TrainATableByTheRowsOfAllCalls) {
  Shared words("words", [](Value ids) { return embedding(ids, {.ids = 4, .dimension = 1, .initializer = constant(1)}); });
  const auto ids = [this](const char* name) { return graph_.input(name, DType::kInt64, {2}); };
  const Value loss = ops::add(ops::reduce_sum(words(ids("a"))), ops::reduce_sum(ops::scale(words(ids("b")), 2)));
  const TrainOp op = sgd({.learning_rate = 0.25}).minimize(loss);
  ASSERT_EQ(op.updates.size(), 1u);
  EXPECT_EQ(op.updates[0].rows.size(), 2u);
  GraphRunner runner(graph_);
  const auto feed = [](std::vector<int64_t> of) { return Tensor::of<int64_t>({2}, std::span<const int64_t>(of)); };
  runner.train(op, {{"a", feed({0, 1})}, {"b", feed({1, 3})}});
  EXPECT_THAT(runner.variable("words/embedding/table"), ElementsAre(0.75f, 0.25f, 1, 0.5f));
}

TEST_F(SharedLayers, DrawAnewInEachCall) {
  Shared tower("tower", [](Value x, Mode mode) { return dropout(x, mode, {.rate = 0.5}); });
  const Value a = graph_.input("a", DType::kFloat32, {64, 2});
  const Value first = tower(a, Mode::kTrain), second = tower(a, Mode::kTrain);
  GraphRunner runner(graph_);
  const Feeds ones{{"a", floats(Shape{64, 2}, std::vector<float>(128, 1))}};
  EXPECT_NE(runner.floats(first, ones), runner.floats(second, ones));
}

TEST_F(SharedLayers, MakeTheSameModelEachTime) {
  const auto fingerprint = [this] {
    Graph graph(3);
    Shared tower("tower", [](Value x) { return dense(x, {.units = 2}); });
    const Value a = graph.input("a", DType::kFloat32, {batch_, 2});
    ops::sub(tower(a), tower(ops::square(a)));
    return graph.fingerprint();
  };
  EXPECT_EQ(fingerprint(), fingerprint());
}

TEST_F(SharedLayers, RefuseCallsThatDiffer) {
  Shared tower("tower", [](Value x, int layers) {
    for (int i = 0; i < layers; ++i) x = dense(x, {.units = 2});
    return x;
  });
  tower(rows("a"), 1);
  EXPECT_THAT(raised([&] { tower(rows("b", 5), 1); }),
              testing::AllOf(HasSubstr("InvalidArgument: variable \"tower/dense/kernel\": "), HasSubstr("float32 [2, 2]"),
                             HasSubstr("float32 [2, 5]"), HasSubstr("have to have the same sizes in each call")));
  EXPECT_THAT(raised([&] { tower(rows("c"), 2); }),
              HasSubstr("\"tower/dense_1/kernel\": the first call of the shared layers did not make it"));
  Graph other(1);
  EXPECT_THAT(raised([&] {
                tower(other.input("a", DType::kFloat32, {batch_, 2}), 1);
              }),
              HasSubstr("shared layers \"tower\" were called in another graph before"));
  EXPECT_FALSE(graph_.finds_variables()) << "after calls that failed";
}

TEST_F(SharedLayers, RefuseAnInvalidValue) {
  Shared tower("tower", [](Value x) { return dense(x, {.units = 2}); });
  EXPECT_THAT(raised([&] { tower(Value()); }), HasSubstr("InvalidArgument: an invalid Value"));
  EXPECT_THAT(raised([] { Value().shape(); }), HasSubstr("InvalidArgument: an invalid Value"));
}

TEST_F(SharedLayers, RefuseSharedTypesThatDiffer) {
  SharedVariables variables("tower");
  {
    const auto scope = variables.enter(graph_);
    graph_.variable("w", {2});
  }
  const auto scope = variables.enter(graph_);
  EXPECT_THAT(raised([&] { graph_.variable("w", {2}, {.dtype = DType::kInt64}); }), HasSubstr("int64 [2]"));
}

}  // namespace
}  // namespace shoal::nn
