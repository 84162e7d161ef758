// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph_runner.h"

namespace shoal::nn {
namespace {

using testing::HasSubstr;

TEST(Schedules, Constant) {
  const LearningRate rate = constant_rate(0.25);
  EXPECT_EQ(rate.at(0), 0.25);
  EXPECT_EQ(rate.at(1'000'000'000'000), 0.25);
}

TEST(Schedules, StepsFallAtMultiples) {
  const LearningRate rate = step_decay({.initial = 8, .decay_steps = 10, .factor = 0.5});
  EXPECT_EQ(rate.at(0), 8);
  EXPECT_EQ(rate.at(9), 8);
  EXPECT_EQ(rate.at(10), 4);
  EXPECT_EQ(rate.at(29), 2);
}

TEST(Schedules, ExponentialDecayIsSmooth) {
  const LearningRate rate = exponential_decay({.initial = 2, .decay_steps = 100, .factor = 0.25});
  EXPECT_EQ(rate.at(0), 2);
  EXPECT_NEAR(rate.at(50), 1, 1e-12);
  EXPECT_NEAR(rate.at(100), 0.5, 1e-12);
  EXPECT_NEAR(rate.at(200), 0.125, 1e-12);
}

TEST(Schedules, PolynomialDecayEndsWhereItSays) {
  const LearningRate line = polynomial_decay({.initial = 1, .decay_steps = 10, .end = 0.5});
  EXPECT_EQ(line.at(0), 1);
  EXPECT_NEAR(line.at(4), 0.8, 1e-12);
  EXPECT_EQ(line.at(10), 0.5);
  EXPECT_EQ(line.at(1000), 0.5);
  const LearningRate square = polynomial_decay({.initial = 1, .decay_steps = 10, .power = 2});
  EXPECT_NEAR(square.at(5), 0.25, 1e-12);
  EXPECT_EQ(square.at(10), 0);
}

TEST(Schedules, CosineDecayIsHalfAPeriod) {
  const LearningRate rate = cosine_decay({.initial = 1, .decay_steps = 30, .end = 0.2});
  EXPECT_EQ(rate.at(0), 1);
  EXPECT_NEAR(rate.at(10), 0.2 + 0.8 * 0.75, 1e-12);  // (1 + cos(60 degrees)) / 2
  EXPECT_NEAR(rate.at(15), 0.6, 1e-12);
  EXPECT_NEAR(rate.at(30), 0.2, 1e-12);
  EXPECT_NEAR(rate.at(45), 0.2, 1e-12);
}

TEST(Schedules, PiecesBeginAtTheirBoundary) {
  const LearningRate rate = piecewise_constant({100, 200}, {3, 2, 1});
  EXPECT_EQ(rate.at(0), 3);
  EXPECT_EQ(rate.at(99), 3);
  EXPECT_EQ(rate.at(100), 2);
  EXPECT_EQ(rate.at(199), 2);
  EXPECT_EQ(rate.at(200), 1);
  EXPECT_EQ(piecewise_constant({}, {0.5}).at(7), 0.5);
}

TEST(Schedules, WarmUpMultipliesTheScheduleUnderneath) {
  const LearningRate rate =
      warm_up(step_decay({.initial = 4, .decay_steps = 3, .factor = 0.5}), {.steps = 4, .start_factor = 0.5});
  EXPECT_EQ(rate.at(0), 2);
  EXPECT_EQ(rate.at(2), 3);
  EXPECT_EQ(rate.at(3), 2 * 0.875);
  EXPECT_EQ(rate.at(4), 2);
  EXPECT_EQ(rate.at(6), 1);
  EXPECT_EQ(warm_up(0.1, {.steps = 10}).at(0), 0);
}

TEST(Schedules, RefuseNumbersOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(raised([] { constant_rate(-1); }), HasSubstr("learning rate is -1"));
  EXPECT_THAT(raised([] { step_decay({.initial = 1, .decay_steps = 0}); }), HasSubstr("step_decay: decay_steps is 0"));
  EXPECT_THAT(raised([] { step_decay({.initial = -1, .decay_steps = 1}); }), HasSubstr("initial is -1"));
  EXPECT_THAT(raised([&] { exponential_decay({.initial = 1, .decay_steps = 1, .factor = nan}); }),
              HasSubstr("factor is nan"));
  EXPECT_THAT(raised([] { polynomial_decay({.initial = 1, .decay_steps = 1, .power = 0}); }), HasSubstr("power is 0"));
  EXPECT_THAT(raised([] { polynomial_decay({.initial = 1, .decay_steps = 1, .end = -1}); }), HasSubstr("end is -1"));
  EXPECT_THAT(raised([] { cosine_decay({.initial = 1, .decay_steps = 0}); }), HasSubstr("cosine_decay: decay_steps is 0"));
  EXPECT_THAT(raised([] { piecewise_constant({5}, {1}); }), HasSubstr("1 boundaries need 2 rates, got 1"));
  EXPECT_THAT(raised([] { piecewise_constant({5, 5}, {1, 1, 1}); }), HasSubstr("must ascend"));
  EXPECT_THAT(raised([] { piecewise_constant({5}, {1, -1}); }), HasSubstr("a rate is -1"));
  EXPECT_THAT(raised([] { warm_up(1, {.steps = 0}); }), HasSubstr("warm_up: steps is 0"));
  EXPECT_THAT(raised([] { warm_up(1, {.steps = 1, .start_factor = 2}); }), HasSubstr("start_factor is 2"));
}

}  // namespace
}  // namespace shoal::nn
