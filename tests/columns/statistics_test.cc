// SPDX-License-Identifier: Apache-2.0
/// What one pass over the data says.
#include "shoal/columns/statistics.h"

#include <cmath>

#include "fixture.h"

namespace shoal::columns {
namespace {

using data::Dataset;

Dataset people() {
  return Dataset::from_tensor_slices({{"age", Tensor::of<float>({5}, {1, 2, std::nanf(""), 4, 9})},
                                      {"pair", Tensor::of<int64_t>({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})},
                                      {"pet", Tensor::of_strings({5}, {"dog", "cat", "dog", "", "emu"})}},
                                     Tensor::of<float>({5}, {1e9f, 1e9f + 64, 1e9f, 1e9f + 64, 1e9f}));
}

TEST(ColumnStatistics, CountsNumbersAndTexts) {
  for (const Dataset& dataset : {people(), people().batch(2)}) {
    const Statistics statistics = statistics_of(dataset);
    const NumberStatistics& age = statistics.number("age");
    EXPECT_EQ(age.count, 4);
    EXPECT_EQ(age.missing, 1);
    EXPECT_DOUBLE_EQ(age.mean, 4);
    EXPECT_DOUBLE_EQ(age.stddev, std::sqrt(9.5));
    EXPECT_EQ(age.min, 1);
    EXPECT_EQ(age.max, 9);
    EXPECT_DOUBLE_EQ(statistics.number("pair").mean, 5.5);
    EXPECT_NEAR(statistics.label_number().stddev, std::sqrt(64.0 * 64 * 6 / 25), 1e-6);  // Squares of 1e9 would lose it.
    const TextStatistics& pet = statistics.text("pet");
    EXPECT_EQ(pet.count, 4);
    EXPECT_EQ(pet.missing, 1);
    EXPECT_THAT(pet.vocabulary(), ElementsAre("dog", "cat", "emu"));
    EXPECT_THAT(pet.vocabulary(2), ElementsAre("dog"));
    EXPECT_THAT(pet.vocabulary(1, 2), ElementsAre("dog", "cat"));
  }
}

TEST(ColumnStatistics, NormalizesNumbers) {
  Batch batch({{"x", Tensor::of<float>({3}, {1, 4, 9})}});
  const NumberStatistics age{.count = 3, .missing = 0, .mean = 4, .stddev = 2, .min = 1, .max = 9};
  EXPECT_THAT(batch.deep(numeric("x", {.normalizer = age.standardizer()})), ElementsAre(-1.5f, 0, 2.5f));
  EXPECT_THAT(batch.deep(numeric("x", {.normalizer = age.rescaler()})), ElementsAre(0, 0.375f, 1));
  EXPECT_THAT(batch.deep(numeric("x", {.normalizer = standardizer(4, 0)})), ElementsAre(-3, 0, 5));
  const std::vector<float> logs = batch.deep(numeric("x", {.normalizer = log1p_normalizer()}));
  EXPECT_NEAR(logs[2], std::log(10.0), 1e-6);
}

TEST(ColumnStatistics, NormalizersOfInfiniteNumbersSayWhichNumbersTheyAre) {
  const auto rows = Dataset::from_tensor_slices({{"x", Tensor::of<float>({3}, {1, 2, INFINITY})}});
  const NumberStatistics x = statistics_of(rows).number("x");
  EXPECT_THAT(
      raised([&] { x.rescaler(); }),
      HasSubstr("rescaler: the limits, least and largest number, have to be finite numbers, and they are 1 and inf; "
                "if they were measured, the data have an infinite number (inf, 1e999): leave such rows out"));
  EXPECT_THAT(raised([&] { x.standardizer(); }), HasSubstr("standardizer: mean and standard deviation have to be finite"));
  EXPECT_THAT(raised([] { rescaler(-1.5e308, 1.5e308); }),
              HasSubstr("rescaler: the limits -1.5e+308 and 1.5e+308 are too far apart"));
}

TEST(ColumnStatistics, RefusesWhatIsNotThere) {
  const Statistics statistics = statistics_of(people());
  EXPECT_THAT(raised([&] { statistics.number("cat"); }), HasSubstr("no feature of numbers \"cat\"; there are: age, pair"));
  EXPECT_THAT(raised([&] { statistics.number("pet"); }),
              HasSubstr("\"pet\" is text: some field of it is neither a number"));
  EXPECT_THAT(raised([&] { statistics.text("age"); }), HasSubstr("no feature of text \"age\"; there are: pet"));
  EXPECT_THAT(raised([&] { statistics.label_text(); }), HasSubstr("there are: none"));
  EXPECT_THAT(raised([] { statistics_of(people().repeat()); }), HasSubstr("the dataset does not end"));
  // How many lines a file has is known at its end only.
  EXPECT_THAT(raised([] { statistics_of(Dataset::text_lines({"no-such-file"}).repeat()); }),
              HasSubstr("the dataset does not end; leave repeat() out"));
  EXPECT_EQ(statistics_of(people().filter([](const auto&) { return true; }).repeat().take(7)).number("age").count, 6);
  EXPECT_THAT(raised([] { statistics_of(people(), {.distinct_max = 2}); }),
              HasSubstr("\"pet\" has more than 2 distinct texts"));
}

TEST(ColumnStatistics, PassOverWhatIsUnused) {
  const Statistics statistics = statistics_of(people(), {.distinct_max = 2, .unused = {"pet", "pair"}});
  EXPECT_EQ(statistics.number("age").count, 4);
  EXPECT_THAT(raised([&] { statistics.text("pet"); }), HasSubstr("no feature of text \"pet\"; there are: none"));
  EXPECT_EQ(Learned<Statistics>::encode(statistics).find("emu"), std::string::npos) << "nothing of it is kept with a run";
  EXPECT_THAT(raised([] { statistics_of(people(), {.unused = {"cat"}}); }),
              HasSubstr("there is no feature \"cat\" that could be unused; there are: age, pair of numbers, pet of text"));
}

TEST(ColumnStatistics, AreOfNamesThatARunCanKeep) {
  const auto rows = data::Dataset::from_tensor_slices({{"h\xF6he", Tensor::of<float>({2}, {1, 2})}});
  EXPECT_THAT(measure(rows).error().message(),
              testing::HasSubstr("statistics: the name of a feature or label (\"h\\xF6he\") is no UTF-8: its byte 1"));
}

}  // namespace
}  // namespace shoal::columns
