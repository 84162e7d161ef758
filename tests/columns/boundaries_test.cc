// SPDX-License-Identifier: Apache-2.0
/// Boundaries that are measured in the data.
#include "shoal/columns/boundaries.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fixture.h"
#include "shoal/base/random.h"
#include "shoal/columns/column.h"
#include "shoal/data/dataset.h"

namespace shoal::columns {
namespace {

using data::Dataset;

std::vector<double> boundaries(const std::vector<float>& numbers, int64_t buckets) {
  const Dataset rows = Dataset::from_tensor_slices({{"x", Tensor::of<float>({int64_t(numbers.size())}, numbers)}});
  return boundaries_of(rows, {"x"}, {.buckets = buckets}).at("x");
}

std::vector<float> range(int count) {
  std::vector<float> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(float((i * 7) % count));  // Mixed: 7 divides no count used here.
  return numbers;
}

TEST(ColumnBoundaries, MakeBucketsOfEqualCounts) {
  EXPECT_THAT(boundaries(range(1000), 10), ElementsAre(100, 200, 300, 400, 500, 600, 700, 800, 900));
  EXPECT_THAT(boundaries(range(1000), 3), ElementsAre(334, 667));
}

TEST(ColumnBoundaries, AFewNumbersGetABucketEach) {
  EXPECT_THAT(boundaries({5, 1, 5, 2, 2}, 32), ElementsAre(2, 5));
  EXPECT_THAT(boundaries({5, 1, 5, 2, 2}, 3), ElementsAre(2, 5));
}

TEST(ColumnBoundaries, AFrequentNumberIsAloneAndTheOthersShareTheRest) {
  std::vector<float> gains(900, 0);
  for (int i = 1; i <= 100; ++i) gains.push_back(float(i));
  EXPECT_THAT(boundaries(gains, 11), ElementsAre(1, 11, 21, 31, 41, 51, 61, 71, 81, 91));
  // In the middle: 100 numbers below the frequent one, 100 above it.
  std::vector<float> hours(800, 40);
  for (int i = 0; i < 100; ++i) hours.insert(hours.end(), {float(i) / 100, 100 + float(i)});
  EXPECT_THAT(boundaries(hours, 5), ElementsAre(0.5f, 40, 100, 150));
}

TEST(ColumnBoundaries, FewNumbersBesideAFrequentOneStayWithIt) {
  std::vector<float> numbers(500, 0);
  numbers.push_back(-3);
  for (int i = 1; i <= 100; ++i) numbers.push_back(float(i));
  EXPECT_THAT(boundaries(numbers, 3), ElementsAre(1, 51));
}

TEST(ColumnBoundaries, AreNeverMoreThanAsked) {
  for (const int count : {20, 100, 3000, 100'000}) {
    for (const int64_t buckets : {2, 3, 17, 64}) {
      std::vector<float> numbers = range(count);
      for (int i = 0; i < count; ++i) numbers.push_back(float(i % 3 * 5));  // Three frequent ones.
      const std::vector<double> between = boundaries(numbers, buckets);
      EXPECT_LE(int64_t(between.size()), buckets - 1);
      EXPECT_GE(int64_t(between.size()), std::min<int64_t>(count, buckets) / 2) << count << " in " << buckets;
      EXPECT_NO_THROW(bucketized(numeric("x"), between));  // It refuses what does not ascend.
    }
  }
}

TEST(ColumnBoundaries, EachFrequentNumberEndsItsBucket) {
  for (RandomKey key = 0; key < 3000; ++key) {
    RandomStream random(key);
    const auto distinct = int64_t(1 + random.below(12)), buckets = int64_t(2 + random.below(7));
    std::vector<float> numbers;
    std::vector<size_t> counts;
    for (int64_t i = 0; i < distinct; ++i) {
      counts.push_back(1 + (random.below(3) == 0 ? random.below(60) : random.below(6)));
      numbers.insert(numbers.end(), counts.back(), float(i));
    }
    if (distinct == 1) continue;
    const std::vector<double> between = boundaries(numbers, buckets);
    ASSERT_LE(int64_t(between.size()), buckets - 1) << key;
    ASSERT_TRUE(std::ranges::is_sorted(between));
    for (size_t i = 0; i + 1 < counts.size(); ++i) {
      if (double(counts[i]) < double(numbers.size()) / double(buckets)) continue;
      EXPECT_TRUE(std::ranges::count(between, double(i + 1)) == 1) << "key " << key << ", number " << i;
    }
  }
}

TEST(ColumnBoundaries, KeepTheirRanksBeyondTheExactCounts) {
  std::vector<float> numbers;
  for (int i = 0; i < 200'000; ++i) numbers.push_back(float(int64_t(i) * 7919 % 200'000));
  const std::vector<double> between = boundaries(numbers, 20);
  ASSERT_EQ(between.size(), 19u);
  for (size_t i = 0; i < between.size(); ++i) {
    EXPECT_NEAR(between[i], 10'000.0 * double(i + 1), 2 * 0.0006 * 200'000) << i;  // Both ends of a bucket may be off.
  }
}

TEST(ColumnBoundaries, PassOnTheErrorsOfTheDataset) {
  const Dataset broken =
      Dataset::from_tensor_slices({{"x", Tensor::of<float>({2}, {1, 2})}}).map([](data::Element) -> Result<data::Element> {
        return data_loss("row 1 is torn");
      });
  EXPECT_THAT(raised([&] { boundaries_of(broken, {"x"}); }), HasSubstr("row 1 is torn"));
  const Dataset none = Dataset::from_tensor_slices({{"x", Tensor::of<float>({2}, {1, 2})}}).take(0);
  EXPECT_THAT(raised([&] { boundaries_of(none, {"x"}); }), HasSubstr("whether the dataset is empty"));
  const Dataset fine = Dataset::from_tensor_slices({{"x", Tensor::of<float>({2}, {1, 2})}});
  EXPECT_EQ(boundaries_of(fine, {"x", "x"}).size(), 1u);
}

TEST(ColumnBoundaries, ReadBatchesAndPassOverWhatIsNoNumber) {
  const float nan = std::nanf(""), infinite = std::numeric_limits<float>::infinity();
  const Dataset rows = Dataset::from_tensor_slices({{"x", Tensor::of<float>({6}, {nan, 3, infinite, 1, -infinite, 2})},
                                                    {"id", Tensor::of<int64_t>({6}, {1 << 24, (1 << 24) + 1, 7, 7, 7, 7})}})
                           .batch(4);
  const Boundaries both = boundaries_of(rows, {"x", "id"});
  EXPECT_THAT(both.at("x"), ElementsAre(2, 3));
  EXPECT_THAT(both.at("id"), ElementsAre(1 << 24));  // As float32, both large ones are the same.
}

TEST(ColumnBoundaries, RefuseWhatCannotBeCut) {
  const Dataset rows = Dataset::from_tensor_slices({{"one", Tensor::of<float>({2}, {4, 4})},
                                                    {"none", Tensor::of<float>({2}, {std::nanf(""), std::nanf("")})},
                                                    {"text", Tensor::of_strings({2}, {"a", "b"})}});
  const auto error = [&](const char* feature) { return raised([&] { boundaries_of(rows, {feature}); }); };
  EXPECT_THAT(boundaries_of(rows, {"one"}).at("one"), ElementsAre(4));
  EXPECT_THAT(error("none"), HasSubstr("feature \"none\" has no finite number"));
  EXPECT_THAT(error("text"), HasSubstr("feature \"text\" has no numbers, it is string"));
  EXPECT_THAT(error("x"), HasSubstr("no feature \"x\"; there are: "));
  EXPECT_THAT(raised([&] { boundaries_of(rows.repeat(), {"one"}); }), HasSubstr("the dataset does not end"));
  for (const int64_t buckets : {1, 1001}) {
    EXPECT_THAT(raised([&] { boundaries_of(rows, {"one"}, {.buckets = buckets}); }),
                HasSubstr("buckets must be 2 to 1000"));
  }
}

}  // namespace
}  // namespace shoal::columns
