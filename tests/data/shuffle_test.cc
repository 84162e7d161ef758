// SPDX-License-Identifier: Apache-2.0
// shuffle: the rule of CONTRACT DS-2, its distribution, DS-6, and the seed rules of DS-19.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "collecting.h"

namespace shoal::data {
namespace {

class Shuffle : public BothEnvironments {};
SHOAL_IN_BOTH_ENVIRONMENTS(Shuffle);

Values sorted(Values values) {
  std::sort(values.begin(), values.end(), [](const Value& a, const Value& b) { return a.numbers < b.numbers; });
  return values;
}

TEST_P(Shuffle, IsAPermutationThatLooksNoFurtherThanItsBuffer) {
  for (int64_t size : {0, 1, 2, 7, 50}) {
    for (int64_t buffer : {1, 2, 3, 7, 49, 50, 51, 1000}) {
      const Values order = collect(Dataset::range(size).shuffle(buffer), env());
      EXPECT_EQ(sorted(order), counting(0, size));
      for (size_t i = 0; i < order.size(); ++i) EXPECT_LT(order[i].numbers[0], int64_t(i) + buffer);
      if (buffer == 1) {
        EXPECT_EQ(order, counting(0, size));
      }
    }
  }
}

TEST_P(Shuffle, TakesNoMoreThanItsBufferFromItsInput) {
  int64_t taken = 0;
  const Dataset counted = Dataset::range(100).map([&](Element element) { return ++taken, element; });
  const std::unique_ptr<Iterator> iterator = open(counted.shuffle(10), env());
  Element element;
  for (int64_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(value_or_raise(iterator->next(element)));
    EXPECT_EQ(taken, 10 + i);
  }
}

/// Upper 1e-6 quantile of chi-square, by Wilson and Hilferty.
double chi_square_limit(double degrees) {
  const double z = 4.753, h = 2 / (9 * degrees);
  return degrees * std::pow(1 - h + z * std::sqrt(h), 3);
}

TEST_P(Shuffle, EveryPlaceIsEquallyLikelyInAFullShuffle) {
  constexpr int64_t kSize = 12, kPasses = 20000;
  std::vector<int64_t> counts(kSize * kSize);
  const std::unique_ptr<Iterator> iterator = open(Dataset::range(kSize).shuffle(kSize, {.seed = 1}).repeat(kPasses), env());
  Element element;
  for (int64_t i = 0; value_or_raise(iterator->next(element)); ++i) {
    ++counts[size_t(i % kSize * kSize + value_of(element).numbers[0])];
  }
  double chi_square = 0;
  for (const int64_t count : counts)
    chi_square += std::pow(double(count) - double(kPasses) / kSize, 2) / (double(kPasses) / kSize);
  EXPECT_LT(chi_square, chi_square_limit((kSize - 1) * (kSize - 1)));
}

TEST_P(Shuffle, EveryOrderIsEquallyLikely) {
  constexpr int64_t kPasses = 24000;
  std::map<std::vector<int64_t>, int64_t> counts;
  const Values all = collect(Dataset::range(4).shuffle(4, {.seed = 2}).repeat(kPasses), env());
  for (size_t i = 0; i < all.size(); i += 4) {
    ++counts[{all[i].numbers[0], all[i + 1].numbers[0], all[i + 2].numbers[0], all[i + 3].numbers[0]}];
  }
  EXPECT_EQ(counts.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, count] : counts) chi_square += std::pow(double(count) - 1000, 2) / 1000;
  EXPECT_LT(chi_square, chi_square_limit(23));
}

TEST_P(Shuffle, EachOutputIsDrawnUniformlyFromASmallBuffer) {
  // With buffer b, input j leaves at output t >= j - b + 1 with probability (1/b)(1 - 1/b)^(t - max(0, j - b + 1)),
  // as long as the buffer is full.
  constexpr int64_t kBuffer = 5, kPasses = 20000, kLooked = 30;
  std::vector<int64_t> waited(kLooked);
  int64_t entered = 0;
  const std::unique_ptr<Iterator> iterator = open(Dataset::range(100).shuffle(kBuffer, {.seed = 3}).repeat(kPasses), env());
  Element element;
  for (int64_t i = 0; value_or_raise(iterator->next(element)); ++i) {
    const int64_t output = i % 100, input = value_of(element).numbers[0];
    if (input < 10 || input >= 40) continue;  // Only the steady state counts.
    const int64_t wait = output - (input - kBuffer + 1);
    if (wait < kLooked) ++waited[size_t(wait)];
    ++entered;
  }
  double chi_square = 0, expected = double(entered) / kBuffer;
  for (const int64_t count : waited) {
    chi_square += std::pow(double(count) - expected, 2) / expected;
    expected *= 1 - 1.0 / kBuffer;
  }
  EXPECT_LT(chi_square, chi_square_limit(kLooked));
}

TEST_P(Shuffle, ThenRepeatCompletesEachPassOfDS6) {
  const Values all = collect(Dataset::range(20).shuffle(20, {.seed = 5}).repeat(3), env());
  const Values one(all.begin(), all.begin() + 20), two(all.begin() + 20, all.begin() + 40),
      three(all.begin() + 40, all.end());
  for (const Values& pass : {one, two, three}) EXPECT_EQ(sorted(pass), counting(0, 20));
  EXPECT_NE(one, two);
  EXPECT_NE(two, three);
  EXPECT_NE(one, three);
}

TEST_P(Shuffle, WithoutReshufflingEveryPassIsAlike) {
  for (const ShuffleOptions& options : {ShuffleOptions{.seed = 5, .reshuffle_each_iteration = false},
                                        ShuffleOptions{.seed = {}, .reshuffle_each_iteration = false}}) {
    const Values all = collect(Dataset::range(20).shuffle(7, options).repeat(2), env());
    EXPECT_EQ(Values(all.begin(), all.begin() + 20), Values(all.begin() + 20, all.end()));
  }
}

TEST_P(Shuffle, AfterRepeatMixesPasses) {
  const Values all = collect(Dataset::range(10).repeat(5).shuffle(25, {.seed = 5}), env());
  EXPECT_NE(sorted(Values(all.begin(), all.begin() + 10)), counting(0, 10));
}

class Seeds : public BothEnvironments {
 protected:
  Values order(const Dataset& dataset, std::optional<int64_t> config_seed, int trainer) {
    return collect(dataset, env(), {.seed = config_seed, .trainer_index = trainer, .num_trainers = 3});
  }
  const Dataset unseeded_ = Dataset::range(60).shuffle(60);
  const Dataset seeded_ = Dataset::range(60).shuffle(60, {.seed = 9});
};
SHOAL_IN_BOTH_ENVIRONMENTS(Seeds);

TEST_P(Seeds, NoneAndNoneIsFreshEachTime) {
  EXPECT_NE(order(unseeded_, {}, 0), order(unseeded_, {}, 0));
  EXPECT_NE(order(unseeded_, {}, 0), order(unseeded_, {}, 1));
}

TEST_P(Seeds, AConfigSeedDiffersPerTrainerAndIsReproducible) {
  std::set<std::vector<int64_t>> orders;
  for (int trainer = 0; trainer < 3; ++trainer) {
    const Values first = order(unseeded_, 4, trainer);
    EXPECT_EQ(first, order(unseeded_, 4, trainer));
    EXPECT_NE(first, order(unseeded_, 5, trainer));
    std::vector<int64_t> numbers;
    for (const Value& value : first) numbers.push_back(value.numbers[0]);
    orders.insert(numbers);
  }
  EXPECT_EQ(orders.size(), 3u);
}

TEST_P(Seeds, AnOperationSeedIsObeyedEverywhere) {
  EXPECT_EQ(order(seeded_, {}, 0), order(seeded_, {}, 2));
  EXPECT_EQ(order(seeded_, 4, 0), order(seeded_, 4, 2));
  EXPECT_NE(order(seeded_, 4, 0), order(seeded_, 5, 0));  // Where both are given, both count.
  EXPECT_NE(order(seeded_, 4, 0), order(seeded_, {}, 0));
  EXPECT_NE(order(seeded_, {}, 0), order(Dataset::range(60).shuffle(60, {.seed = 8}), {}, 0));
}

TEST_P(Seeds, EveryRandomOperationHasItsOwnSequence) {
  // Two shuffles in a row: were they alike, the second would act on the first's order with the same draws, and the
  // branches of a concatenation would be equal.
  const Values both = order(unseeded_.concatenate(unseeded_), 4, 0);
  EXPECT_NE(Values(both.begin(), both.begin() + 60), Values(both.begin() + 60, both.end()));
  // Random operations are numbered from the source on.
  EXPECT_EQ(Values(both.begin(), both.begin() + 60), order(unseeded_, 4, 0));
}

TEST_P(Seeds, TheSamePipelineHasTheSameOrderWhateverTheThreads) {
  const auto same = [](Element element) { return element; };
  const Values plain = order(unseeded_.map(same).shuffle(10), 4, 1);
  EXPECT_EQ(plain, order(unseeded_.map(same, {.parallel = 4}).prefetch(3).shuffle(10).prefetch(2), 4, 1));
}

/// The order is part of what users rely on (a run repeats on another machine and by a later version).
TEST_P(Seeds, TheOrderIsPinned) {
  EXPECT_EQ(order(Dataset::range(10).shuffle(10, {.seed = 1}), {}, 0), values({1, 9, 5, 3, 8, 0, 7, 2, 4, 6}));
  EXPECT_EQ(order(Dataset::range(10).shuffle(4), 1, 2), values({1, 3, 4, 0, 6, 5, 9, 7, 8, 2}));
}

TEST_P(Seeds, ATrainerOutOfRangeIsRefused) {
  EXPECT_EQ(unseeded_.iterate(env(), {.trainer_index = 3, .num_trainers = 3}).error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(unseeded_.iterate(env(), {.trainer_index = -1}).error().kind(), ErrorKind::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::data
