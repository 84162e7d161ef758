// SPDX-License-Identifier: Apache-2.0
// The worked examples of CONTRACT 17, and what each docstring of dataset.h promises.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>

#include "collecting.h"

namespace shoal::data {
namespace {

class Transforms : public BothEnvironments {};
SHOAL_IN_BOTH_ENVIRONMENTS(Transforms);

Tensor rows(std::initializer_list<float> values) { return Tensor::of<float>(Shape{int64_t(values.size())}, values); }

TEST_P(Transforms, ShardExampleOfDS4) {
  EXPECT_EQ(collect(Dataset::range(10).shard(3, 0), env()), values({0, 3, 6, 9}));
  EXPECT_EQ(collect(Dataset::range(10).shard(3, 1), env()), values({1, 4, 7}));
  EXPECT_EQ(collect(Dataset::range(10).shard(3, 2), env()), values({2, 5, 8}));
}

TEST_P(Transforms, SplitPutsEachElementOnOneSideInItsOrder) {
  const auto [training, held_out] = Dataset::range(20000).split(0.1);
  const Values in_training = collect(training, env()), in_held_out = collect(held_out, env());
  EXPECT_NEAR(double(in_held_out.size()), 2000, 5 * std::sqrt(20000 * 0.1 * 0.9));
  Values both;
  const auto by_number = [](const Value& a, const Value& b) { return a.numbers < b.numbers; };
  std::ranges::merge(in_training, in_held_out, std::back_inserter(both), by_number);  // Needs and keeps their order.
  EXPECT_EQ(both, counting(0, 20000));
  EXPECT_EQ(training.cardinality(), int64_t(in_training.size()));
  EXPECT_EQ(held_out.cardinality(), int64_t(in_held_out.size()));
  EXPECT_EQ(Dataset::range(INT64_MAX).split(0.5).held_out.cardinality(), std::nullopt);
}

// Held out is held out, whoever asks: another seed of the run, another trainer, a second pass.
TEST_P(Transforms, SplitDependsOnItsOwnSeedAlone) {
  const auto split = [](int64_t seed) { return Dataset::range(1000).split(0.3, {.seed = seed}); };
  const Values first = collect(split(0).held_out, env());
  for (const int64_t config_seed : {1, 2}) {
    for (const int trainer : {0, 3}) {
      EXPECT_EQ(collect(split(0).held_out, env(), {.seed = config_seed, .trainer_index = trainer, .num_trainers = 4}),
                first);
    }
  }
  const Values twice = collect(split(0).held_out.repeat(2), env());
  ASSERT_EQ(twice.size(), 2 * first.size());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), twice.begin() + ptrdiff_t(first.size())));
  EXPECT_NE(collect(split(1).held_out, env()), first);
  EXPECT_NE(split(1).held_out.fingerprint(), split(0).held_out.fingerprint());
  EXPECT_NE(split(0).training.fingerprint(), split(0).held_out.fingerprint());
}

TEST_P(Transforms, SplitCallsNoFunctionForTheOtherSide) {
  std::atomic<int> calls = 0;
  const Dataset mapped = Dataset::range(100).map([&calls](Element element) { return ++calls, element; });
  const Values held_out = collect(mapped.split(0.2).held_out, env());
  EXPECT_EQ(calls, int(held_out.size()));
  EXPECT_LT(calls, 50);
}

TEST(Split, IsRefusedWhereElementsMove) {
  const Dataset all = Dataset::range(1000);
  const auto same = [](Element element) { return element; };
  const std::vector<std::pair<Dataset, std::string>> moving = {
      {all.shuffle(10), "shuffle without a seed"},
      {all.shuffle(10).map(same).batch(2), "shuffle without a seed"},
      {all.shuffle(10, {.seed = 1}).cache(), "another order in each pass"},
      {all.repeat(3), "repeat gives"},
      {Dataset::zip({all.repeat()}), "repeat gives"},
      {all.concatenate(all.shuffle(5)), "shuffle without a seed"},
      {all.map(same, {.parallel = 2, .deterministic = false}), "not deterministic"},
  };
  for (const auto& [dataset, why] : moving) {
    const std::optional<Error> refused = raised([&] { return dataset.split(0.2); });
    ASSERT_TRUE(refused) << why;
    EXPECT_EQ(refused->kind(), ErrorKind::kInvalidArgument);
    EXPECT_NE(refused->message().find(why), std::string::npos) << refused->message();
    EXPECT_NE(refused->message().find("call split first"), std::string::npos) << refused->message();
  }
  for (const Dataset& still : {all.shuffle(10, {.seed = 1, .reshuffle_each_iteration = false}), all.repeat(1), all.cache(),
                               all.map(same, {.parallel = 2}), all.take(5)}) {
    EXPECT_FALSE(raised([&] { return still.split(0.2); }));
  }
}

TEST(OverlapsByShuffle, IsTrueOfPartsByPositionBehindOneShuffle) {
  const auto slices = [](int64_t first) { return Dataset::from_tensor_slices(Tensor::of<int64_t>({4}, {first, 2, 3, 4})); };
  const Dataset all = Dataset::range(1000), mixed = all.shuffle(1000), seeded = all.shuffle(1000, {.seed = 5});
  const Dataset fixed = all.shuffle(1000, {.seed = 5, .reshuffle_each_iteration = false});
  EXPECT_TRUE(mixed.skip(200).overlaps_by_shuffle(mixed.take(200)));
  EXPECT_TRUE(mixed.skip(200).repeat().batch(8).overlaps_by_shuffle(mixed.take(200).batch(8)));
  EXPECT_TRUE(all.shuffle(1000).skip(200).overlaps_by_shuffle(mixed.take(200)));  // Made twice, as by two input functions.
  EXPECT_TRUE(seeded.skip(200).repeat().overlaps_by_shuffle(seeded.take(200)));
  EXPECT_TRUE(slices(1).shuffle(4).skip(2).overlaps_by_shuffle(slices(1).shuffle(4).take(2)));
  EXPECT_FALSE(seeded.skip(200).overlaps_by_shuffle(seeded.take(200)));  // One pass each, in the same order.
  EXPECT_FALSE(fixed.skip(200).repeat().overlaps_by_shuffle(fixed.take(200)));
  EXPECT_FALSE(all.skip(200).shuffle(800).repeat().overlaps_by_shuffle(all.take(200).shuffle(200)));
  EXPECT_FALSE(mixed.overlaps_by_shuffle(mixed.take(200)));  // Whoever trains on all and looks at a few means it.
  EXPECT_FALSE(slices(1).shuffle(4).take(2).overlaps_by_shuffle(slices(9).shuffle(4).take(2)));  // Other data.
  EXPECT_FALSE(all.shuffle(7).skip(200).overlaps_by_shuffle(mixed.take(200)));
}

TEST(Split, SharesThatAreNoneAreRefused) {
  for (const double share : {0.0, 1.0, -0.5, 2.0, std::nan("")}) {
    const std::optional<Error> refused = raised([share] { return Dataset::range(3).split(share); });
    ASSERT_TRUE(refused) << share;
    EXPECT_EQ(refused->kind(), ErrorKind::kInvalidArgument);
    EXPECT_NE(refused->message().find("split: held_out is"), std::string::npos) << refused->message();
  }
}

TEST_P(Transforms, BatchExampleOfDS5) {
  const Values whole = {{{3}, {0, 1, 2}}, {{3}, {3, 4, 5}}, {{2}, {6, 7}}};
  EXPECT_EQ(collect(Dataset::range(8).batch(3), env()), whole);
  EXPECT_EQ(collect(Dataset::range(8).batch(3, {.drop_remainder = true}), env()), Values(whole.begin(), whole.end() - 1));
}

TEST_P(Transforms, RepeatEndsForEmptyInputsAndCountZero) {
  EXPECT_EQ(collect(Dataset::range(0).repeat(), env()), Values());
  EXPECT_EQ(collect(Dataset::range(5).filter([](const Element&) { return false; }).repeat(), env()), Values());
  EXPECT_EQ(collect(Dataset::range(5).repeat(0), env()), Values());
  EXPECT_EQ(collect(Dataset::range(2).repeat(3), env()), values({0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(collect(Dataset::range(2).repeat().take(5), env()), values({0, 1, 0, 1, 0}));
}

TEST_P(Transforms, TakeAndSkipOfMinusOne) {
  EXPECT_EQ(collect(Dataset::range(3).take(-1), env()), counting(0, 3));
  EXPECT_EQ(collect(Dataset::range(3).skip(-1), env()), Values());
}

TEST_P(Transforms, RangeWithSteps) {
  EXPECT_EQ(collect(Dataset::range(3, 10, 3), env()), values({3, 6, 9}));
  EXPECT_EQ(collect(Dataset::range(3, -4, -3), env()), values({3, 0, -3}));
  EXPECT_EQ(collect(Dataset::range(3, 3), env()), Values());
  EXPECT_EQ(Dataset::range(INT64_MIN, INT64_MAX, INT64_MAX).cardinality(), 3);
}

TEST_P(Transforms, ARangeOfAllNumbersHasMoreThanCardinalityCanSay) {
  const Dataset all = Dataset::range(INT64_MIN, INT64_MAX);
  EXPECT_EQ(all.cardinality(), std::nullopt);
  EXPECT_EQ(all.is_finite(), true);
  EXPECT_EQ(Dataset::range(INT64_MAX, INT64_MIN, -1).cardinality(), std::nullopt);
  EXPECT_EQ(Dataset::range(0, INT64_MAX).cardinality(), INT64_MAX);
  EXPECT_EQ(collect(all.take(2), env()), values({INT64_MIN, INT64_MIN + 1}));
}

TEST_P(Transforms, ALongRangeIsReachedFarFromItsBegin) {
  const Dataset by_two = Dataset::range(INT64_MIN, INT64_MAX, 2).skip(INT64_MAX - 1).take(1);
  EXPECT_EQ(collect(by_two, env()), values({INT64_MAX - 3}));
}

TEST_P(Transforms, SlicesKeepFeaturesAndLabelsTogether) {
  const Dataset dataset = Dataset::from_tensor_slices({{"x", rows({1, 2, 3})}, {"y", rows({4, 5, 6})}},
                                                      Tensor::of<int64_t>(Shape{3}, {7, 8, 9}));
  const std::unique_ptr<Iterator> iterator = open(dataset.shuffle(3).batch(2), env());
  Batch batch;
  int64_t seen = 0;
  while (value_or_raise(iterator->next(batch))) {
    const auto x = batch.features.find("x")->as<float>(), y = batch.features.find("y")->as<float>();
    const auto labels = batch.labels.single().as<int64_t>();
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(y[i], x[i] + 3);
      EXPECT_EQ(labels[i], int64_t(x[i]) + 6);
      ++seen;
    }
  }
  EXPECT_EQ(seen, 3);
}

TEST_P(Transforms, StringsAreBatchedAndUnbatched) {
  const Dataset dataset = Dataset::from_tensor_slices(Tensor::of_strings(Shape{3}, {"one", "two", "three"}));
  const std::unique_ptr<Iterator> iterator = open(dataset.batch(2).unbatch().batch(3), env());
  Batch batch;
  ASSERT_TRUE(value_or_raise(iterator->next(batch)));
  EXPECT_EQ(batch.features.single().strings(), (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_FALSE(value_or_raise(iterator->next(batch)));
}

TEST_P(Transforms, FromTensorsIsOneElementThatEachIteratorOwns) {
  const Dataset dataset = Dataset::from_tensors(rows({1, 2}));
  EXPECT_EQ(collect(dataset.repeat(2), env()), (Values{{{2}, {1, 2}}, {{2}, {1, 2}}}));
  const Dataset changed = dataset.map([](Element element) {
    element.features.find("")->mutable_as<float>()[0] += 1;  // The tensor is its own: nobody else may see the change.
    return element;
  });
  EXPECT_EQ(collect(changed.repeat(2), env()), (Values{{{2}, {2, 2}}, {{2}, {2, 2}}}));
  EXPECT_EQ(collect(dataset.cache()
                        .map([](Element element) {
                          element.features.find("")->mutable_as<float>()[0] += 1;
                          return element;
                        })
                        .repeat(2),
                    env()),
            (Values{{{2}, {2, 2}}, {{2}, {2, 2}}}));
}

TEST_P(Transforms, EnumerateAddsANumber) {
  const std::unique_ptr<Iterator> iterator = open(Dataset::range(5, 8).enumerate(10, "n"), env());
  Element element;
  for (int64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(value_or_raise(iterator->next(element)));
    EXPECT_EQ(value_of(*element.features.find("")), Value(5 + i));
    EXPECT_EQ(value_of(*element.features.find("n")), Value(10 + i));
  }
  EXPECT_FALSE(value_or_raise(iterator->next(element)));
}

TEST_P(Transforms, ZipEndsWithTheShortest) {
  const Dataset named = Dataset::range(10).map([](Element element) -> Element {
    return {{{"b", element.features.single()}}, {}};
  });
  const std::unique_ptr<Iterator> iterator = open(Dataset::zip({Dataset::range(3), named}), env());
  Element element;
  for (int64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(value_or_raise(iterator->next(element)));
    EXPECT_EQ(value_of(*element.features.find("")), Value(i));
    EXPECT_EQ(value_of(*element.features.find("b")), Value(i));
  }
  EXPECT_FALSE(value_or_raise(iterator->next(element)));
  EXPECT_FALSE(value_or_raise(iterator->next(element)));
  EXPECT_EQ(Dataset::zip({Dataset::range(3), named}).cardinality(), 3);
  EXPECT_EQ(Dataset::zip({Dataset::range(3).repeat(), named}).cardinality(), 10);
  const Outcome clash = drain(*open(Dataset::zip({Dataset::range(3), Dataset::range(3)}), env()));
  ASSERT_TRUE(clash.error);
  EXPECT_EQ(clash.error->kind(), ErrorKind::kInvalidArgument);
}

TEST_P(Transforms, ZipAsksForNothingBehindItsEnd) {
  // Behind its 18th row comes an element without rows.
  const Dataset failing =
      Dataset::from_tensor_slices(Tensor::zeros(DType::kInt64, {9, 2})).concatenate(Dataset::range(3)).unbatch();
  const Dataset both = Dataset::zip({failing, Dataset::range(17).map([](Element element) -> Element {
                                       return {{{"b", element.features.single()}}, {}};
                                     })});
  const std::unique_ptr<Iterator> iterator = open(both, env());
  Element element;
  for (int i = 0; i < 17; ++i) ASSERT_TRUE(value_or_raise(iterator->next(element)));
  EXPECT_FALSE(value_or_raise(iterator->next(element)));
  EXPECT_FALSE(value_or_raise(iterator->next(element)));
  const Outcome skipped = drain(*open(both.skip(40), env()));
  EXPECT_FALSE(skipped.error) << skipped.error->message();
}

TEST_P(Transforms, ZipLabelsMakesPairs) {
  const std::unique_ptr<Iterator> iterator = open(Dataset::zip_labels(Dataset::range(5), Dataset::range(7, 9)), env());
  Element element;
  ASSERT_TRUE(value_or_raise(iterator->next(element)));
  EXPECT_EQ(value_of(element), Value(0));
  EXPECT_EQ(value_of(element.labels.single()), Value(7));
  ASSERT_TRUE(value_or_raise(iterator->next(element)));
  EXPECT_FALSE(value_or_raise(iterator->next(element)));
}

TEST_P(Transforms, CacheReadsItsInputOnceAndForgetsAnIncompletePass) {
  int calls = 0;
  const Dataset counted = Dataset::range(4).map([&](Element element) { return ++calls, element; });
  EXPECT_EQ(collect(counted.cache().repeat(3), env()).size(), 12u);
  EXPECT_EQ(calls, 4);
  calls = 0;
  EXPECT_EQ(collect(counted.cache().take(2).repeat(3), env()).size(), 6u);  // No pass is complete.
  EXPECT_EQ(calls, 6);
}

// A pass of the cache that is broken off ends its elements, which a batch or a shuffle still refers to.
TEST_P(Transforms, ACacheWhosePassIsBrokenOffChangesNoRow) {
  const Dataset all = Dataset::range(100);
  const auto on_top = [](const Dataset& dataset, int64_t size) {
    return std::vector<Dataset>{dataset.repeat().batch(size),
                                dataset.repeat().shuffle(15, {.seed = 1}).batch(size),
                                dataset.concatenate(Dataset::range(5)).repeat().batch(size),
                                dataset.prefetch(2).repeat().batch(size).prefetch(2),
                                dataset.repeat().padded_batch(size),
                                Dataset::zip({dataset.repeat()}).batch(size)};
  };
  for (int64_t taken = 1; taken < 12; ++taken) {
    for (int64_t size = 1; size < 2 * taken + 2; ++size) {
      SCOPED_TRACE("take(" + std::to_string(taken) + "), batches of " + std::to_string(size));
      const auto cached = on_top(all.cache().take(taken), size), plain = on_top(all.take(taken), size);
      for (size_t i = 0; i < plain.size(); ++i) {
        EXPECT_EQ(collect(cached[i].take(4), env()), collect(plain[i].take(4), env())) << "pipeline " << i;
      }
      EXPECT_EQ(collect(all.batch(3).cache().take(2).unbatch().repeat().batch(size).take(4), env()),
                collect(all.batch(3).take(2).unbatch().repeat().batch(size).take(4), env()));
    }
  }
}

TEST_P(Transforms, IteratingTwiceStartsTwice) {
  const Dataset dataset = Dataset::range(5).map([](Element element) { return element; }).prefetch(2);
  const std::unique_ptr<Iterator> first = open(dataset, env());
  EXPECT_EQ(drain(*first, 3).values, counting(0, 3));
  EXPECT_EQ(collect(dataset, env()), counting(0, 5));
  EXPECT_EQ(drain(*first).values, counting(3, 5));
}

TEST_P(Transforms, TheEndStaysTheEnd) {
  for (const Dataset& dataset : {Dataset::range(3), Dataset::range(3).shuffle(2), Dataset::range(3).repeat(1),
                                 Dataset::range(3).prefetch(1), Dataset::range(3).batch(1), Dataset::range(6).shard(2, 1),
                                 Dataset::range(3).concatenate(Dataset::range(0)), Dataset::range(3).cache()}) {
    const std::unique_ptr<Iterator> iterator = open(dataset, env());
    EXPECT_EQ(drain(*iterator).values.size(), 3u);
    Element element;
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(value_or_raise(iterator->next(element)));
    EXPECT_EQ(value_or_raise(iterator->skip(5)), 0);
    EXPECT_EQ(iterator->ordinal(), 3u);
  }
}

TEST_P(Transforms, ABatchThatSomebodyHoldsIsNotOverwritten) {
  const std::unique_ptr<Iterator> iterator = open(Dataset::range(6).batch(2), env());
  Batch batch;
  ASSERT_TRUE(value_or_raise(iterator->next(batch)));
  const Tensor held = batch.features.single();
  ASSERT_TRUE(value_or_raise(iterator->next(batch)));
  EXPECT_EQ(value_of(held), Value({2}, {0, 1}));
  EXPECT_EQ(value_of(batch), Value({2}, {2, 3}));
  const std::byte* storage = batch.features.single().view().data;
  ASSERT_TRUE(value_or_raise(iterator->next(batch)));
  EXPECT_EQ(batch.features.single().view().data, storage);  // Nobody held this one.
}

TEST_P(Transforms, ABatchWhoseTensorWasMovedAwayIsFilledAgain) {
  const std::unique_ptr<Iterator> iterator = open(Dataset::range(6).batch(2), env());
  Batch batch;
  ASSERT_TRUE(value_or_raise(iterator->next(batch)));
  const Tensor kept = std::move(*batch.features.find(""));
  ASSERT_TRUE(value_or_raise(iterator->next(batch)));
  EXPECT_EQ(value_of(kept), Value({2}, {0, 1}));
  EXPECT_EQ(value_of(batch), Value({2}, {2, 3}));
}

TEST_P(Transforms, UnequalElementsInABatchAreNamed) {
  const Dataset ragged = Dataset::range(8).batch(3).batch(3);
  const Outcome outcome = drain(*open(ragged, env()));
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(outcome.error->message(),
            "input element 0: batch: element 2 of the batch has feature \"\" of int64 [2], element 0 of int64 [3]; make "
            "them equal with map, or use padded_batch");
}

TEST_P(Transforms, ABatchOfTensorsOfTheHighestRankIsRefused) {
  const Dataset cubes = Dataset::from_tensors(Tensor::zeros(DType::kFloat32, Shape{1, 1, 1, 1, 1, 1, 1, 1}));
  const Outcome outcome = drain(*open(cubes.batch(1), env()));
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->kind(), ErrorKind::kInvalidArgument);
}

TEST(Descriptions, MistakesAreRaisedWhereTheyAreMade) {
  const Dataset ten = Dataset::range(10);
  const MapFn same = [](Element element) { return element; };
  const std::vector<std::function<void()>> mistakes = {[&] { ten.batch(0); },
                                                       [&] { ten.batch(-1); },
                                                       [&] { ten.shuffle(0); },
                                                       [&] { ten.shard(0, 0); },
                                                       [&] { ten.shard(3, 3); },
                                                       [&] { ten.shard(3, -1); },
                                                       [&] { ten.repeat(-2); },
                                                       [&] { ten.take(-2); },
                                                       [&] { ten.skip(-2); },
                                                       [&] { ten.prefetch(-2); },
                                                       [&] { ten.map(same, {.parallel = 0}); },
                                                       [&] { ten.map(same, {.parallel = 1025}); },
                                                       [&] { ten.map(MapFn()); },
                                                       [&] { ten.filter(FilterFn()); },
                                                       [&] { Dataset::range(0, 5, 0); },
                                                       [&] { Dataset::zip({}); },
                                                       [&] { Dataset::from_tensors({}); },
                                                       [&] { Dataset::list_files(std::vector<std::string>{}); },
                                                       [&] { Dataset::list_files(""); },
                                                       [&] { Dataset::from_generator(std::function<GeneratorFn()>()); },
                                                       [&] { Dataset::from_tensor_slices({}); },
                                                       [&] { Dataset::from_tensor_slices(Tensor::scalar<float>(1)); },
                                                       [&] {
                                                         Dataset::from_tensor_slices(rows({1, 2, 3}), rows({1, 2}));
                                                       }};
  for (size_t i = 0; i < mistakes.size(); ++i) {
    const std::optional<Error> error = raised(mistakes[i]);
    ASSERT_TRUE(error) << "mistake " << i;
    EXPECT_EQ(error->kind(), ErrorKind::kInvalidArgument) << error->message();
  }
  EXPECT_EQ(raised([&] { ten.batch(0); })->message(), "batch: size is 0; give 1 or more");
  EXPECT_EQ(raised([&] {
              Dataset::from_tensor_slices(rows({1, 2, 3}), rows({1, 2}));
            })->message(),
            "from_tensor_slices: label the tensor has 2 rows, feature the tensor has 3");
}

TEST(Descriptions, AnswerWhatTheEstimatorAsks) {
  const Dataset ten = Dataset::range(10);
  EXPECT_FALSE(ten.has_unseeded_random());
  EXPECT_TRUE(ten.shuffle(3).batch(2).has_unseeded_random());
  EXPECT_FALSE(ten.shuffle(3, {.seed = 1}).has_unseeded_random());
  EXPECT_TRUE(Dataset::list_files("x*").has_unseeded_random());
  EXPECT_FALSE(Dataset::list_files("x*", {.shuffle = false}).has_unseeded_random());
  EXPECT_TRUE(ten.concatenate(ten.shuffle(2)).has_unseeded_random());
  const auto draw = [](Element one, RandomStream&) { return one; };
  const auto choose = [](const Element&, RandomStream& random) { return random.below(2) == 0; };
  EXPECT_TRUE(ten.map(draw).has_unseeded_random());
  EXPECT_FALSE(ten.map(draw, {.seed = 1}).has_unseeded_random());
  EXPECT_TRUE(ten.filter(choose).has_unseeded_random());
  EXPECT_FALSE(ten.filter(choose, 1).has_unseeded_random());
  EXPECT_TRUE(Dataset::sample_from({ten, ten}).has_unseeded_random());
  EXPECT_FALSE(Dataset::sample_from({ten, ten}, {.seed = 1}).has_unseeded_random());

  EXPECT_FALSE(ten.has_shard());
  EXPECT_TRUE(ten.shard(2, 0).batch(2).has_shard());
  EXPECT_TRUE(ten.shard(2, 0).depends_on_trainer());
  EXPECT_FALSE(ten.shuffle(2).depends_on_trainer());
  const auto open_generator = [] { return [](Element&) -> Result<bool> { return false; }; };
  EXPECT_TRUE(Dataset::from_generator(open_generator, {.depends_on_trainer = true}).depends_on_trainer());
  EXPECT_FALSE(Dataset::from_generator(open_generator).depends_on_trainer());

  EXPECT_FALSE(ten.shard(2, 0).shuffle(3).unseeded_random_before_shard());
  EXPECT_TRUE(ten.shuffle(3).shard(2, 0).unseeded_random_before_shard());
  EXPECT_FALSE(ten.shuffle(3, {.seed = 1}).shard(2, 0).unseeded_random_before_shard());
  EXPECT_TRUE(Dataset::list_files("x*").shard(2, 1).repeat().unseeded_random_before_shard());
  EXPECT_TRUE(Dataset::sample_from({ten, ten}).shard(2, 0).unseeded_random_before_shard());
  EXPECT_TRUE(ten.filter(choose).shard(2, 0).unseeded_random_before_shard());
  EXPECT_FALSE(ten.filter(choose, 1).shard(2, 0).unseeded_random_before_shard());
  EXPECT_FALSE(ten.map(draw).shard(2, 0).unseeded_random_before_shard()) << "Elements keep their positions.";
  EXPECT_TRUE(ten.map(draw).filter([](const Element&) { return true; }).shard(2, 0).unseeded_random_before_shard());
  EXPECT_TRUE(ten.map([](Element one) { return one; }, {.parallel = 2, .deterministic = false})
                  .shard(2, 0)
                  .unseeded_random_before_shard());

  EXPECT_EQ(ten.is_finite(), true);
  EXPECT_EQ(ten.repeat().batch(3).is_finite(), false);
  EXPECT_EQ(ten.repeat().take(3).is_finite(), true);
  EXPECT_EQ(ten.repeat(2).is_finite(), true);
  EXPECT_EQ(Dataset::range(0).repeat().is_finite(), true);
  EXPECT_EQ(Dataset::from_generator(open_generator).is_finite(), std::nullopt);
  EXPECT_EQ(Dataset::from_generator(open_generator).repeat().is_finite(), std::nullopt);
  EXPECT_EQ(ten.concatenate(ten.repeat()).is_finite(), false);
  EXPECT_EQ(Dataset::zip({ten, ten.repeat()}).is_finite(), true);
  EXPECT_EQ(ten.batch(3).cardinality(), 4);
  EXPECT_EQ(ten.batch(3, {.drop_remainder = true}).cardinality(), 3);
  EXPECT_EQ(ten.repeat().cardinality(), std::nullopt);
}

TEST(Maps, KeepNamesInByteOrder) {
  TensorMap map{{"b", rows({1})}, {"a", rows({2})}, {"B", rows({3})}};
  std::string names;
  for (const auto& [name, tensor] : map) names += name;
  EXPECT_EQ(names, "Bab");
  EXPECT_EQ(map.find("a")->as<float>()[0], 2);
  EXPECT_EQ(map.find("c"), nullptr);
  map.set("a", rows({5}));
  EXPECT_EQ(map.size(), 3u);
  EXPECT_EQ(map.find("a")->as<float>()[0], 5);
  EXPECT_FALSE(map.is_single());
  EXPECT_TRUE(TensorMap(rows({1})).is_single());
}

TEST(Maps, AWrongNameIsAnErrorThatListsTheNames) {
  TensorMap map{{"rooms", rows({3})}, {"age", rows({40})}};
  EXPECT_EQ(map["rooms"].as<float>()[0], 3);
  map["rooms"].mutable_as<float>()[0] = 4;
  EXPECT_EQ(std::as_const(map)["rooms"].as<float>()[0], 4);
  EXPECT_EQ(raised([&] { map["room"]; })->message(), "no tensor named \"room\"; there are: age, rooms");
  EXPECT_EQ(raised([&] { map.single(); })->message(),
            "expected one tensor, but they have names: age, rooms; choose one by its name");
  EXPECT_EQ(raised([] { TensorMap().single(); })->message(), "expected one tensor, there is none");
  TensorMap lone(rows({7}));
  lone.single().mutable_as<float>()[0] = 8;
  EXPECT_EQ(lone[""].as<float>()[0], 8);
  EXPECT_EQ(raised([&] { lone["x"]; })->message(), "no tensor named \"x\"; there are: one without a name");
}

TEST(Questions, AnEndlessRepeatIsOneWhateverItRepeats) {
  const Dataset lines = Dataset::text_lines({"no-such-file"});
  EXPECT_FALSE(lines.repeats_for_ever());
  EXPECT_TRUE(lines.repeat().batch(2).repeats_for_ever());
  EXPECT_TRUE(lines.repeat().repeat(3).skip(2).repeats_for_ever());
  EXPECT_FALSE(lines.repeat(3).batch(2).repeats_for_ever());
  EXPECT_FALSE(lines.repeat().repeat(0).repeats_for_ever());
  EXPECT_FALSE(Dataset::range(0).repeat().repeats_for_ever());
  EXPECT_FALSE(lines.repeat().take(5).repeats_for_ever());
  EXPECT_FALSE(lines.repeat().skip(-1).repeats_for_ever());
  EXPECT_FALSE(Dataset::zip({lines, lines.repeat()}).repeats_for_ever());
  EXPECT_FALSE(
      Dataset::zip({Dataset::from_generator([] { return data::GeneratorFn(); }), lines.repeat()}).repeats_for_ever());
  EXPECT_TRUE(Dataset::zip({lines.repeat(), lines.repeat()}).repeats_for_ever());
  EXPECT_TRUE(lines.concatenate(lines.repeat()).repeats_for_ever());
  EXPECT_FALSE(lines.concatenate(lines).repeats_for_ever());
}

}  // namespace
}  // namespace shoal::data
