// SPDX-License-Identifier: Apache-2.0
/// Which value of a metric is the better one.
#include "shoal/search/goal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace shoal::tuning {
namespace {

TEST(Goal, IsImpliedByTheNameOfAMetric) {
  for (const char* name : {"loss", "head/average_loss", "squared_error", "RMSE", "val/perplexity", "accuracy_loss"}) {
    EXPECT_EQ(implied_goal(name), Goal::kMin) << name;
  }
  for (const char* name : {"accuracy", "loss/of/Auc", "auc_precision_recall", "F1", "bleu"}) {
    EXPECT_EQ(implied_goal(name), Goal::kMax) << name;
  }
  // Words within other words do not count.
  for (const char* name :
       {"", "profit", "learning_rate", "loss/", "lossless", "previous_reward", "maestro", "f10", "msec"}) {
    EXPECT_EQ(implied_goal(name), std::nullopt) << name;
  }
  EXPECT_THAT(goal_of("profit").error().message(), testing::HasSubstr("the metric profit is better is not known: say"));
}

TEST(Goal, HasANameThatIsReadBack) {
  for (const Goal goal : {Goal::kMin, Goal::kMax}) EXPECT_EQ(*parse_goal(to_string(goal)), goal);
  EXPECT_THAT(parse_goal("up").error().message(), testing::HasSubstr("\"up\" is no goal; there are min, max"));
}

TEST(Goal, NaNIsWorseThanEveryNumber) {
  EXPECT_TRUE(is_better(1, 2, Goal::kMin));
  EXPECT_FALSE(is_better(1, 2, Goal::kMax));
  EXPECT_FALSE(is_better(1, 1, Goal::kMax));
  EXPECT_TRUE(is_better(1e9, std::nan(""), Goal::kMin));
  EXPECT_FALSE(is_better(std::nan(""), std::nan(""), Goal::kMin));
}

}  // namespace
}  // namespace shoal::tuning
