// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/optimizer_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph_runner.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/normalization.h"
#include "shoal/nn/optimizers.h"

namespace shoal::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// loss = sum((a - 1)^2) + sum((b - 2)^2) + sum((c - 3)^2); all start at 0, so the gradients are -2, -4 and -6.
struct Three {
  Graph graph;
  Value a = graph.variable("body/a", Shape{1}), b = graph.variable("body/b", Shape{1}),
        c = graph.variable("top/c", Shape{1});
  Value loss =
      ops::reduce_sum(ops::square(a - 1.0)) + ops::reduce_sum(ops::square(b - 2.0)) + ops::reduce_sum(ops::square(c - 3.0));
};

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Exception& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    return error.what();
  }
  return "none";
}

TEST(OptimizerGroups, TheFirstThatMatchesTrains) {
  Three model;
  const TrainOp op = minimize_by_groups(model.loss, {{"body/a", sgd({.learning_rate = 0.5})},
                                                     {"body/.*", sgd({.learning_rate = 0.25})},
                                                     {".*", sgd({.learning_rate = 0.1})}});
  GraphRunner runner(model.graph);
  runner.train(op);
  EXPECT_THAT(runner.variable("body/a"), ElementsAre(1.0f));
  EXPECT_THAT(runner.variable("body/b"), ElementsAre(1.0f));
  EXPECT_THAT(runner.variable("top/c"), ElementsAre(::testing::FloatEq(0.6f)));
  EXPECT_EQ(runner.global_step(), 1u);
}

TEST(OptimizerGroups, WhatNoneMatchesStays) {
  Three model;
  GraphRunner runner(model.graph);
  runner.train(minimize_by_groups(model.loss, {{"top/.*", adam({.learning_rate = 0.5})}}));
  EXPECT_THAT(runner.variable("body/a"), ElementsAre(0.0f));
  EXPECT_THAT(runner.variable("top/c"), ElementsAre(::testing::FloatNear(0.5f, 1e-6f)));  // Adam's first step is its rate.
}

TEST(OptimizerGroups, SaysWhatIsWrong) {
  Three model;
  EXPECT_THAT(refusal([&] {
                minimize_by_groups(model.loss, {{"!tpo/.*", adam()}});
              }),
              HasSubstr("\"!tpo/.*\" leaves out no trainable variable; the model has: body/a, body/b, top/c"));
  EXPECT_THAT(refusal([&] {
                minimize_by_groups(model.loss, {{".*", adam()}, {"top/.*", adam()}});
              }),
              HasSubstr("no trainable variable is left for \"top/.*\"; the model has: body/a, body/b, top/c"));
  EXPECT_THAT(refusal([&] {
                minimize_by_groups(model.loss, {{"body", adam()}});
              }),
              HasSubstr("left for \"body\""));  // Whole names.
  EXPECT_THAT(refusal([&] {
                minimize_by_groups(model.loss, {{"(", adam()}});
              }),
              HasSubstr("\"(\" is not a regular expression"));
  EXPECT_THAT(refusal([&] { minimize_by_groups(model.loss, {}); }), HasSubstr("no groups"));
}

}  // namespace
}  // namespace shoal::nn
