// SPDX-License-Identifier: Apache-2.0
/// Asynchronous successive halving: rungs, verdicts, and what it saves.
#include "shoal/search/asha.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "shoal/base/random.h"

namespace shoal::tuning {
namespace {

using ::testing::ElementsAre;

Asha asha(const AshaOptions& options) { return *Asha::create(options); }

TEST(Asha, HasRungsBelowTheLastStep) {
  EXPECT_THAT(asha({.min_steps = 100, .max_steps = 2700, .eta = 3}).rungs(), ElementsAre(100, 300, 900));
  EXPECT_THAT(asha({.min_steps = 1, .max_steps = 2, .eta = 2}).rungs(), ElementsAre(1));
  EXPECT_EQ(asha({.min_steps = 1, .max_steps = INT64_MAX, .eta = 2}).rungs().size(), 63u);
}

TEST(Asha, RefusesWhatHasNoRungs) {
  for (const AshaOptions& options :
       {AshaOptions{.min_steps = 0, .max_steps = 10}, AshaOptions{.min_steps = 10, .max_steps = 10},
        AshaOptions{.min_steps = 1, .max_steps = 10, .eta = 1}}) {
    const auto refused = Asha::create(options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalidArgument);
  }
}

TEST(Asha, EndsWhoIsNotAmongTheBestOfARung) {
  Asha one = asha({.min_steps = 10, .max_steps = 100, .eta = 3});
  EXPECT_FALSE(one.observe(0, 9, 1));  // No rung yet.
  EXPECT_TRUE(one.observe(0, 10, 0.5)->goes_on);
  EXPECT_FALSE(one.observe(0, 12, 0.4));  // It has been at that rung.
  EXPECT_FALSE(one.observe(1, 10, 0.6)->goes_on);
  EXPECT_TRUE(one.observe(2, 10, 0.5)->goes_on);  // As good as the best.
  EXPECT_TRUE(one.observe(3, 11, 0.4)->goes_on);
  EXPECT_FALSE(one.observe(4, 10, 0.45)->goes_on);
  EXPECT_TRUE(one.observe(5, 10, 0.45)->goes_on);  // Six: two go on, and one is better.
  EXPECT_EQ(one.observe(3, 35, 9)->rung, 1);
}

TEST(Asha, HeedsTheGoalAndNaN) {
  Asha one = asha({.min_steps = 10, .max_steps = 100, .eta = 3, .goal = Goal::kMax});
  EXPECT_FALSE(one.observe(0, 10, std::nan(""))->goes_on);
  EXPECT_TRUE(one.observe(1, 10, 0.5)->goes_on);
  EXPECT_FALSE(one.observe(2, 10, 0.4)->goes_on);
  EXPECT_TRUE(one.observe(3, 10, 0.6)->goes_on);
}

TEST(Asha, CountsAStepBeyondARungAtTheHighestRungAlone) {
  Asha one = asha({.min_steps = 10, .max_steps = 1000, .eta = 3});
  EXPECT_EQ(one.observe(0, 95, 0.5)->rung, 2);
  EXPECT_FALSE(one.observe(0, 100, 0.5));
  EXPECT_TRUE(one.observe(1, 10, 0.9)->goes_on);  // The first at its rung.
}

/// 81 trials whose values at each rung are their final ones and some noise: the best survives, and few steps are taken.
TEST(Asha, FindsAGoodTrialForAFractionOfTheSteps) {
  constexpr int kTrials = 81;
  RandomStream random(5);
  std::vector<double> quality;
  for (int i = 0; i < kTrials; ++i) quality.push_back(random.next_float());
  Asha one = asha({.min_steps = 1, .max_steps = 81, .eta = 3});
  int64_t steps = 0;
  double best = 1;
  for (int trial = 0; trial < kTrials; ++trial) {
    bool goes_on = true;
    int64_t reached = 0;
    for (const int64_t rung : one.rungs()) {
      if (!goes_on) break;
      reached = rung;
      goes_on = one.observe(trial, rung, quality[size_t(trial)] + 0.02 * (random.next_float() - 0.5))->goes_on;
    }
    if (goes_on) {
      reached = 81;
      best = std::min(best, quality[size_t(trial)]);
    }
    steps += reached;
  }
  std::sort(quality.begin(), quality.end());
  EXPECT_LE(best, quality[2]);
  EXPECT_LT(steps, int64_t(kTrials) * 81 / 5);
}

TEST(Asha, ThreeRungsAreTheDefault) {
  EXPECT_EQ(default_min_steps(13'500, 3), 500);
  EXPECT_EQ(default_min_steps(20, 3), 1);
  EXPECT_EQ(default_min_steps(9000, 3), 334);
  EXPECT_EQ(default_min_steps(INT64_MAX, INT64_MAX), 1);
  for (const int64_t steps : {1000, 2700, 6000, 9000, 10'000}) {  // No rung stands just before the end.
    EXPECT_EQ(asha({.min_steps = default_min_steps(steps, 3), .max_steps = steps, .eta = 3}).rungs().size(), 3u) << steps;
  }
}

TEST(Asha, ATrialThatHasTakenAllStepsIsNotJudged) {
  Asha one = asha({.min_steps = 10, .max_steps = 100, .eta = 3});
  EXPECT_TRUE(one.observe(0, 90, 1.0)->goes_on);
  EXPECT_FALSE(one.observe(1, 100, 2.0));  // It would be the worse of two, as late as this.
}

}  // namespace
}  // namespace shoal::tuning
