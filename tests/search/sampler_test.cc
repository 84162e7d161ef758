// SPDX-License-Identifier: Apache-2.0
/// What samplers give: the same for the same seed, no doubles, and evenly on the scale that was asked for.
#include "shoal/search/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "fixture.h"

namespace shoal::tuning {
namespace {

std::vector<std::string> all_of(Sampler& sampler, size_t count_max = 1000) {
  std::vector<std::string> texts;
  while (texts.size() < count_max) {
    const auto next = sampler.next();
    if (!next) break;
    texts.push_back(text_of(*next));
  }
  return texts;
}

TEST(RandomSampler, GivesTheSameForTheSameSeed) {
  const Space made =
      space_of({"lr=1e-4..1e-1:log", "units=16..256:int:log", "activation=relu|tanh", "m=0..1 if activation=relu"});
  EXPECT_EQ(all_of(*random_sampler(made, 7), 50), all_of(*random_sampler(made, 7), 50));
  EXPECT_NE(all_of(*random_sampler(made, 7), 50), all_of(*random_sampler(made, 8), 50));
}

TEST(RandomSampler, KeepsAParametersValuesWhenOthersAreAdded) {
  const Assignment alone = draw(space_of({"lr=0..1"}), 1, 5, 0), beside = draw(space_of({"a=x|y|z", "lr=0..1"}), 1, 5, 0);
  EXPECT_EQ(alone[0], beside[1]);
}

TEST(RandomSampler, GivesEachCombinationOfAFiniteSpaceOnce) {
  const auto given = all_of(*random_sampler(space_of({"a=x|y|z", "n=1..7:int if a=x", "b=p|q"}), 3));
  EXPECT_EQ(given.size(), 18u);
  EXPECT_EQ(std::set<std::string>(given.begin(), given.end()).size(), 18u);
}

TEST(RandomSampler, GivesConstantsOnce) { EXPECT_EQ(all_of(*random_sampler(space_of({"a=x"}), 3)).size(), 1u); }

TEST(RandomSampler, DrawsEvenlyOnItsScale) {
  const Space made = space_of({"lr=1e-4..1:log", "d=-2..2", "n=1..4:int", "k=1..15:int:log"});
  constexpr int kDraws = 8000;
  std::map<int, int> decades, quarters, whole, log_whole;
  for (int trial = 0; trial < kDraws; ++trial) {
    const Assignment drawn = draw(made, 11, trial, 0);
    const double lr = std::get<double>(drawn[0].second), d = std::get<double>(drawn[1].second);
    ASSERT_TRUE(lr >= 1e-4 && lr <= 1 && d >= -2 && d <= 2);
    ++decades[std::min(int(std::floor(std::log10(lr))), -1)];
    ++quarters[std::min(int(std::floor(d)), 1)];
    ++whole[int(std::get<int64_t>(drawn[2].second))];
    ++log_whole[int(std::log2(std::get<int64_t>(drawn[3].second)))];  // 1, 2 to 3, 4 to 7, 8 to 15.
  }
  for (const auto& counts : {decades, quarters, whole, log_whole}) {
    EXPECT_EQ(counts.size(), 4u);
    for (const auto& [part, count] : counts) EXPECT_NEAR(count, kDraws / 4, 200) << part;  // Five standard deviations.
  }
}

TEST(RandomSampler, TakesALargeSpace) {
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i) texts.push_back("p" + std::to_string(i) + "=a|b");
  const auto sampler = random_sampler(space_of(texts), 1);
  EXPECT_NE(sampler->next(), sampler->next());
}

TEST(RandomSampler, DrawsFromTheWidestRange) {
  const Space made = space_of({"n=-9223372036854775808..9223372036854775807:int"});
  EXPECT_NE(draw(made, 1, 0, 0), draw(made, 1, 1, 0));
}

TEST(GridSampler, EndsBehindItsLastCombination) {
  auto sampler = grid_sampler(space_of({"a=x|y", "b=1..2:int"}));
  ASSERT_TRUE(sampler);
  EXPECT_THAT(all_of(**sampler), ::testing::ElementsAre("a x, b 1", "a x, b 2", "a y, b 1", "a y, b 2"));
  EXPECT_FALSE((*sampler)->next());
}

TEST(GridSampler, PassesOnTheErrorsOfAGrid) { EXPECT_FALSE(grid_sampler(space_of({"lr=0..1"}))); }

}  // namespace
}  // namespace shoal::tuning
