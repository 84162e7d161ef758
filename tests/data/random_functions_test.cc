// SPDX-License-Identifier: Apache-2.0
// Functions that draw random numbers, those that fail for single elements, and those with a state.
#include <gmock/gmock.h>

#include <atomic>
#include <map>

#include "collecting.h"

namespace shoal::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RandomFunctions : public BothEnvironments {};
SHOAL_IN_BOTH_ENVIRONMENTS(RandomFunctions);

Element drawn(const Element&, RandomStream& random) { return {Tensor::scalar(int64_t(random.below(1'000'000))), {}}; }

TEST_P(RandomFunctions, DrawTheSameOnAnyNumberOfThreads) {
  const auto with = [&](int parallel) { return Dataset::range(200).map(drawn, {.parallel = parallel}).repeat(2); };
  const Values all = collect(with(1), env(), {.seed = 3});
  for (const int parallel : {2, 7}) EXPECT_EQ(collect(with(parallel), env(), {.seed = 3}), all);
  std::map<int64_t, int> counts;
  for (const Value& value : all) ++counts[value.numbers[0]];
  EXPECT_GT(counts.size(), 390u);  // Each element draws its own numbers, in each pass others.
  EXPECT_NE(collect(with(1), env(), {.seed = 4}), all);
  EXPECT_NE(collect(with(1), env(), {.seed = 3, .trainer_index = 1, .num_trainers = 2}), all);
}

TEST_P(RandomFunctions, ASeedOfTheirOwnIsObeyedOnEveryTrainer) {
  const Dataset dataset = Dataset::range(50).map(drawn, {.seed = 9});
  EXPECT_EQ(collect(dataset, env()), collect(dataset, env(), {.trainer_index = 1, .num_trainers = 2}));
}

TEST_P(RandomFunctions, SkippedElementsLeaveTheOthersTheirNumbers) {
  const Values all = collect(Dataset::range(50).map(drawn, {.seed = 9}), env());
  EXPECT_EQ(collect(Dataset::range(50).map(drawn, {.parallel = 3, .seed = 9}).skip(20), env()),
            Values(all.begin() + 20, all.end()));
}

TEST_P(RandomFunctions, TheFunctionSeesTheElementAlone) {
  const auto looks = [](Element element, RandomStream&) {
    EXPECT_EQ(element.features.names(), "a, b");
    return element;
  };
  const Dataset dataset = Dataset::from_tensors({{"a", Tensor::scalar(1.0f)}, {"b", Tensor::scalar(2.0f)}}).map(looks);
  Element element;
  ASSERT_TRUE(*open(dataset, env())->next(element));
  EXPECT_EQ(element.features.size(), 2u);
}

TEST_P(RandomFunctions, FilterKeepsAShare) {
  const auto half = [](const Element&, RandomStream& random) { return random.below(2) == 0; };
  const Dataset dataset = Dataset::range(10'000).filter(half, 5);
  const Values kept = collect(dataset, env());
  EXPECT_NEAR(double(kept.size()), 5000, 250);  // Five standard deviations.
  EXPECT_EQ(collect(dataset, env()), kept);
  const Values two_passes = collect(dataset.repeat(2), env());
  EXPECT_NE(Values(two_passes.begin() + ptrdiff_t(kept.size()), two_passes.end()), kept);
}

Result<Element> picky(Element element) {
  if (element.features.single().as<int64_t>()[0] % 10 == 7) return data_loss("an element that ends in 7");
  return element;
}

TEST_P(RandomFunctions, ErrorsAreLeftOutUpToABound) {
  for (const int parallel : {1, 3}) {
    const Dataset map = Dataset::range(40).map(picky, {.parallel = parallel});
    EXPECT_EQ(collect(map.ignore_errors(4), env()).size(), 36u);
    EXPECT_EQ(collect(map.ignore_errors(-1).repeat(3), env()).size(), 3 * 36u);
    EXPECT_EQ(collect(map.ignore_errors(4).repeat(3), env()).size(), 3 * 36u) << "The bound is one of each pass.";
    const Outcome outcome = drain(*open(map.ignore_errors(2), env()));
    EXPECT_EQ(outcome.values.size(), 25u);
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->kind(), ErrorKind::kDataLoss);
    EXPECT_THAT(outcome.error->message(),
                AllOf(HasSubstr("ignore_errors: 2 elements were left out in this pass, as many as may be"),
                      HasSubstr("element 27 of the input of map"), HasSubstr("ends in 7")));
  }
  const auto fails = [](const Element& element) -> Result<bool> {
    SHOAL_TRY_VOID(picky(element));
    return true;
  };
  EXPECT_EQ(collect(Dataset::range(40).filter(fails).ignore_errors(4), env()).size(), 36u);
}

/// The bound holds in each pass, also in one that was resumed.
TEST_P(RandomFunctions, ErrorsBeforeAResumeCount) {
  const Dataset dataset = Dataset::range(40).map(picky).ignore_errors(3).repeat();
  const auto iterator = open(dataset, env());
  Element element;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(*iterator->next(element));
  const auto resumed = open(dataset, env());
  ASSERT_TRUE(resumed->restore(value_or_raise(iterator->save())));
  const Outcome outcome = drain(*resumed);
  EXPECT_EQ(outcome.values.size(), 14u);  // From 22 to 36, but for 27. 7, 17 and 27 were left out, and 37 is one too many.
  EXPECT_TRUE(outcome.error);
}

TEST_P(RandomFunctions, AnErrorOfTheInputIsNotLeftOut) {
  const Dataset dataset =
      Dataset::range(3).concatenate(Dataset::range(2).batch(2)).batch(2).map([](Element one) { return one; });
  const Outcome outcome = drain(*open(dataset.ignore_errors(-1), env()));
  EXPECT_EQ(outcome.values.size(), 1u);
  EXPECT_TRUE(outcome.error);
}

TEST(IgnoreErrors, SaysWhatItLeftOut) {
  VirtualWorld world(1);
  std::vector<std::string> warnings;
  Environment& env = world.add_task({.sink = [&](const LogRecord& record) { warnings.emplace_back(record.message); }});
  collect(Dataset::range(40).map(picky).ignore_errors(-1).repeat(3), env);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_THAT(warnings[0],
              AllOf(HasSubstr("ignore_errors leaves out an element: "), HasSubstr("element 7 of the input of map")));
  EXPECT_EQ(warnings[1], "ignore_errors has left out 4 elements in this pass");
}

TEST(IgnoreErrors, IsForMapsAndFilters) {
  EXPECT_THAT(raised([] { return Dataset::range(3).batch(2).ignore_errors(1); })->message(),
              HasSubstr("right behind a map or a filter"));
  EXPECT_EQ(raised([] { return Dataset::range(3).map(picky).ignore_errors(-2); })->kind(), ErrorKind::kInvalidArgument);
}

TEST_P(RandomFunctions, AStateThatIsTooLargeForAPositionIsToldAtTheSave) {
  const auto keep = [](Element& state, const Element&) { return state; };
  const Dataset dataset = Dataset::range(3).scan({Tensor::zeros(DType::kFloat32, {2000}), {}}, keep);
  const auto iterator = open(dataset, env());
  const Result<Position> position = iterator->save();
  ASSERT_FALSE(position);
  EXPECT_EQ(position.error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(position.error().message(), HasSubstr("the state of scan takes 80"));
  EXPECT_EQ(drain(*iterator).values.size(), 3u);
}

/// Texts, several tensors and labels in a state come back with a position.
TEST_P(RandomFunctions, AStateOfAnyTensorsIsSaved) {
  const auto longer = [](Element& state, const Element&) -> Element {
    state.features["text"] = Tensor::of_strings({}, {state.features["text"].strings()[0] + "x"});
    state.labels["sum"] = Tensor::scalar(state.labels["sum"].as<float>()[0] + 0.5f);
    return {Tensor::scalar(int64_t(state.features["text"].strings()[0].size()) * 100 +
                           int64_t(2 * state.labels["sum"].as<float>()[0])),
            {}};
  };
  const Element initial{{{"text", Tensor::of_strings({}, {"é"})}, {"none", Tensor::zeros(DType::kInt64, {0, 3})}},
                        {{"sum", Tensor::scalar(0.0f)}}};
  const Dataset dataset = Dataset::range(5).scan(initial, longer);
  const Values all = collect(dataset, env());
  EXPECT_EQ(all, values({301, 402, 503, 604, 705}));
  const auto iterator = open(dataset, env());
  Element element;
  ASSERT_TRUE(*iterator->next(element));
  const auto resumed = open(dataset, env());
  ASSERT_TRUE(resumed->restore(value_or_raise(iterator->save())));
  EXPECT_EQ(drain(*resumed).values, Values(all.begin() + 1, all.end()));
}

/// The state is the stage's own, although the initial state and what the function returns are copies of its tensors.
TEST_P(RandomFunctions, AStateIsWrittenInPlace) {
  const auto sum = [](Element& state, const Element& one) -> Element {
    state.features["sum"].mutable_as<int64_t>()[0] += one.features.single().as<int64_t>()[0];
    state.features["text"].mutable_strings()[0] += "x";
    state.features["sum"].mutable_as<int64_t>()[0] += 100 * int64_t(state.features["text"].strings()[0].size());
    return {state.features["sum"], state.features["text"]};
  };
  const Element initial{{{"sum", Tensor::scalar<int64_t>(0)}, {"text", Tensor::of_strings({}, {""})}}, {}};
  const Values all = values({100, 301, 603, 1006, 100, 301, 603, 1006});
  for (const Dataset& dataset :
       {Dataset::range(4).scan(initial, sum).repeat(2), Dataset::range(4).scan(initial, sum).repeat(2).prefetch(3)}) {
    std::vector<Element> kept;  // As long as the consumer keeps elements, they keep their values.
    const auto iterator = open(dataset, env());
    for (size_t position = 0; position < all.size(); ++position) {
      const auto resumed = open(dataset, env());
      ASSERT_TRUE(resumed->restore(value_or_raise(iterator->save())));
      EXPECT_EQ(drain(*resumed).values, Values(all.begin() + ptrdiff_t(position), all.end())) << position;
      ASSERT_TRUE(value_or_raise(iterator->next(kept.emplace_back())));
    }
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(value_of(kept[i]), all[i]) << i;
  }
  EXPECT_EQ(initial.features["sum"].as<int64_t>()[0], 0);
}

/// A function that moves a tensor out of the state leaves one there that has no storage.
TEST_P(RandomFunctions, ATensorMayBeMovedOutOfAState) {
  const auto delayed = [](Element& state, Element one) -> Element {
    Element before{std::move(state.features.single()), {}};
    state = std::move(one);
    if (before.features.single().as<int64_t>()[0] == 2) before.features = std::move(state.features.single());
    return before;
  };
  const Dataset dataset = Dataset::range(1, 4).scan({Tensor::scalar<int64_t>(0), {}}, delayed);
  EXPECT_EQ(collect(dataset, env()), values({0, 1, 3}));
}

TEST_P(RandomFunctions, SamplesAreAsManyAsTheWeightsSay) {
  const auto ones = [](int64_t number) { return Dataset::from_tensors(Tensor::scalar(number)).repeat(); };
  const Dataset dataset = Dataset::sample_from({ones(0), ones(1), ones(2)}, {.weights = {1, 0, 3}, .seed = 1}).take(10'000);
  std::map<int64_t, int> counts;
  for (const Value& value : collect(dataset, env())) ++counts[value.numbers[0]];
  EXPECT_NEAR(counts[0], 2500, 220);  // Five standard deviations.
  EXPECT_EQ(counts[1], 0);
  EXPECT_FALSE(Dataset::sample_from({ones(0), Dataset::range(3)}, {}).is_finite().value());
  EXPECT_TRUE(Dataset::sample_from({ones(0), Dataset::range(3)}, {.stops_with_the_first = true}).is_finite().value());
}

TEST_P(RandomFunctions, ASampleGoesOnWithTheOthersOrStops) {
  const std::vector<Dataset> inputs{Dataset::range(3), Dataset::range(10, 30)};
  EXPECT_EQ(collect(Dataset::sample_from(inputs, {.seed = 2}), env()).size(), 23u);
  const Values some = collect(Dataset::sample_from(inputs, {.seed = 2, .stops_with_the_first = true}), env());
  EXPECT_LT(some.size(), 23u);
  EXPECT_GE(some.size(), 3u);
}

TEST(SampleFrom, RefusesWeightsThatCannotBe) {
  for (const std::vector<double>& weights : {std::vector<double>{1}, {1, -1}, {0, 0}, {1, 0.0 / 0.0}}) {
    const auto sample = [&] { return Dataset::sample_from({Dataset::range(1), Dataset::range(1)}, {.weights = weights}); };
    EXPECT_EQ(raised(sample)->kind(), ErrorKind::kInvalidArgument);
  }
  EXPECT_EQ(raised([] { return Dataset::sample_from({}); })->kind(), ErrorKind::kInvalidArgument);
}

TEST(BucketByLength, RefusesNumbersThatCannotBe) {
  const auto length = [](const Element&) { return int64_t(1); };
  const std::vector<BucketOptions> wrong{{.boundaries = {2, 2}, .batch_sizes = {1}},
                                         {.boundaries = {2, 4}, .batch_sizes = {1, 2}},
                                         {.boundaries = {}, .batch_sizes = {0}},
                                         {.boundaries = {}, .batch_sizes = {}},
                                         {.boundaries = {}, .batch_sizes = {1}, .padding = {.multiple_of = 0}}};
  for (const BucketOptions& options : wrong) {
    EXPECT_EQ(raised([&] { return Dataset::range(1).bucket_by_length(length, options); })->kind(),
              ErrorKind::kInvalidArgument);
  }
}

/// An endless input is not read again from its beginning.
TEST_P(RandomFunctions, BucketsOfAnEndlessInputContinueFarFromItsBeginning) {
  std::atomic<int64_t> read = 0;
  const auto count = [&](Element element) { return ++read, element; };
  const auto length = [](const Element& element) { return element.features.single().as<int64_t>()[0] % 7; };
  const Dataset dataset =
      Dataset::range(INT64_MAX).map(count).bucket_by_length(length, {.boundaries = {3, 5}, .batch_sizes = {8}});
  const auto iterator = open(dataset, env());
  Element element;
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(*iterator->next(element));
  const Position position = value_or_raise(iterator->save());
  ASSERT_TRUE(*iterator->next(element));
  const Value expected = value_of(element);
  read = 0;
  const auto resumed = open(dataset, env());
  ASSERT_TRUE(resumed->restore(position));
  EXPECT_LT(read, 2000);
  ASSERT_TRUE(*resumed->next(element));
  EXPECT_EQ(value_of(element), expected);
}

TEST_P(RandomFunctions, WindowsOfTheExample) {
  const Values windows = collect(Dataset::range(7).window(3, {.shift = 2}), env());
  EXPECT_EQ(windows, (Values{{{3}, {0, 1, 2}}, {{3}, {2, 3, 4}}, {{3}, {4, 5, 6}}, {{1}, {6}}}));
  EXPECT_EQ(raised([] { return Dataset::range(1).window(0); })->kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(raised([] { return Dataset::range(1).window(2, {.stride = 0}); })->kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(raised([] { return Dataset::range(1).window(INT64_MAX, {.stride = 2}); })->kind(), ErrorKind::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::data
