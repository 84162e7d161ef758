// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/nearest_text.h"

#include <gtest/gtest.h>

#include <vector>

namespace shoal {
namespace {

const std::vector<std::string> kWords{"checkpoint", "predict", "profile", "--steps", "--step"};

TEST(NearestText, IsTheWordThatWasMeant) {
  EXPECT_EQ(nearest_text("predcit", kWords), "predict");  // Two letters exchanged: one change.
  EXPECT_EQ(nearest_text("profle", kWords), "profile");
  EXPECT_EQ(nearest_text("checkpiont", kWords), "checkpoint");
  EXPECT_EQ(nearest_text("--stpes", kWords), "--steps");
  EXPECT_EQ(nearest_text("--steps", kWords), "--steps");  // The nearer of two.
}

TEST(NearestText, IsFirstTheSameWordInOtherLetters) {
  const std::vector<std::string> known{"date", "Late", "rate"};
  EXPECT_EQ(nearest_text("late", known), "Late");
  EXPECT_EQ(nearest_text("LATE", known), "Late");
}

TEST(NearestText, IsNothingWhereNothingIsNear) {
  EXPECT_EQ(nearest_text("launch", kWords), "");
  EXPECT_EQ(nearest_text("", kWords), "");
  EXPECT_EQ(nearest_text("ab", std::vector<std::string>{"cd"}), "");
  EXPECT_EQ(nearest_text(std::string(5000, 'x'), kWords), "");
  EXPECT_EQ(nearest_text("predict", {}), "");
  EXPECT_EQ(nearest_text("profle", std::vector{std::string(5000, 'p')}), "");
}

TEST(NearestText, IsAskedForInAnError) {
  EXPECT_EQ(did_you_mean("predcit", kWords), "; did you mean predict?");
  EXPECT_EQ(did_you_mean("launch", kWords), "");
}

}  // namespace
}  // namespace shoal
