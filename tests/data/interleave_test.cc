// SPDX-License-Identifier: Apache-2.0
// flat_map and interleave (CONTRACT DS-2, DS-3): order, errors, random operations inside, work in the background.
#include <gmock/gmock.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <set>

#include "collecting.h"

namespace shoal::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Interleave : public BothEnvironments {};
SHOAL_IN_BOTH_ENVIRONMENTS(Interleave);

Dataset six_times(const Element& element) { return Dataset::from_tensors(element.features).repeat(6); }

TEST_P(Interleave, TheExampleOfTheContract) {
  const Values expected =
      values({1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5});
  for (const bool parallel : {false, true}) {
    EXPECT_EQ(collect(Dataset::range(1, 6).interleave(six_times, {.cycle = 2, .block = 4, .parallel = parallel}), env()),
              expected);
  }
}

TEST_P(Interleave, FlatMapGivesOneAfterTheOther) {
  const auto counting_to = [](const Element& element) {
    return Dataset::range(element.features.single().as<int64_t>()[0]);
  };
  EXPECT_EQ(collect(Dataset::range(4).flat_map(counting_to), env()), values({0, 0, 1, 0, 1, 2}));
  EXPECT_EQ(collect(Dataset::range(0).flat_map(counting_to), env()), Values());
}

/// cache() keeps the elements of a pass until the pass ends.
TEST_P(Interleave, ADatasetThatRepeatsForEverIsRefusedBeforeCache) {
  TemporaryFolder folder;
  const auto endless = [](const Element& element) { return Dataset::from_tensors(element.features).repeat(); };
  const auto nested = [&](const Element& element) { return Dataset::from_tensors(element.features).flat_map(endless); };
  const Dataset three = Dataset::range(3);
  for (const Dataset& dataset :
       {three.flat_map(endless).cache(), three.flat_map(endless).shuffle(4).batch(2).cache(folder / "file"),
        three.interleave(endless, {.parallel = true}).cache().take(5), three.flat_map(nested).cache()}) {
    const Outcome outcome = drain(*open(dataset, env()), 100);
    EXPECT_EQ(outcome.values.size(), 0u);
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(outcome.error->message(), AllOf(HasSubstr("element 0 of the input of "), HasSubstr("repeats for ever"),
                                                HasSubstr("put repeat() behind cache()")));
  }
  // Here something ends the pass before cache() gets all of it.
  const auto cut = [&](const Element& element) { return endless(element).take(2); };
  const auto cut_above = [&](const Element& element) {
    return Dataset::from_tensors(element.features).flat_map(endless).take(2);
  };
  EXPECT_EQ(collect(three.flat_map(endless).take(4).cache(), env()), values({0, 0, 0, 0}));
  EXPECT_EQ(collect(three.flat_map(cut).cache(), env()), values({0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(collect(three.flat_map(cut_above).cache(), env()), values({0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(collect(Dataset::zip_labels(three.flat_map(endless), three).cache(), env()), values({0, 0, 0}));
  EXPECT_EQ(collect(three.cache().flat_map(endless).take(2), env()), values({0, 0}));
}

TEST_P(Interleave, WithoutOrderNothingIsLost) {
  const Dataset dataset =
      Dataset::range(10).interleave(six_times, {.cycle = 4, .block = 2, .parallel = true, .deterministic = false});
  std::multiset<int64_t> seen;
  for (const Value& value : collect(dataset, env())) seen.insert(value.numbers[0]);
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(seen.count(i), 6u);
  EXPECT_EQ(raised([&] { return dataset.split(0.5); })->kind(), ErrorKind::kInvalidArgument);
}

TEST_P(Interleave, ErrorsComeAtTheirTurn) {
  const auto fails_for_three = [](const Element& element) -> Result<Dataset> {
    const int64_t number = element.features.single().as<int64_t>()[0];
    if (number == 3) return not_found("no dataset of 3");
    return Dataset::range(number * 10, number * 10 + 2);
  };
  for (const bool parallel : {false, true}) {
    const Outcome outcome =
        drain(*open(Dataset::range(6).interleave(fails_for_three, {.cycle = 2, .block = 1, .parallel = parallel}), env()));
    EXPECT_EQ(outcome.values, values({0, 10, 1, 11, 20}));
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->kind(), ErrorKind::kNotFound);
    EXPECT_THAT(outcome.error->message(), AllOf(HasSubstr("the function of interleave: no dataset of 3"),
                                                HasSubstr("element 3 of the input of interleave (counted from 0)")));
  }
}

TEST_P(Interleave, ADatasetWithoutItsFileIsNamedWithItsElement) {
  const auto lines_of = [](const Element& name) { return Dataset::text_lines({name.features.single().strings()[0]}); };
  const Outcome outcome =
      drain(*open(Dataset::from_tensors(Tensor::of_strings({}, {"/no/such/file"})).flat_map(lines_of), env()));
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->kind(), ErrorKind::kNotFound);
  EXPECT_THAT(outcome.error->message(), HasSubstr("/no/such/file"));
}

/// Where an element was read is known behind it, too.
TEST_P(Interleave, RecordsOfFilesKeepTheirPlaces) {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b"}) std::ofstream(folder / name) << name << "1\n" << name << "2\n" << name << "3\n";
  const auto lines_of = [](const Element& name) { return Dataset::text_lines({name.features.single().strings()[0]}); };
  const Dataset names = Dataset::from_tensor_slices(Tensor::of_strings({2}, {folder / "a", folder / "b"}));
  const auto fails_at_b2 = [](Element line) -> Result<Element> {
    if (line.features.single().strings()[0] == "b2") return invalid_argument("not b2");
    return line;
  };
  for (const bool parallel : {false, true}) {
    const Dataset lines = names.repeat(2).interleave(lines_of, {.cycle = 2, .parallel = parallel}).map(fails_at_b2);
    const auto iterator = open(lines, env());
    Element element;
    Result<bool> more = true;
    while (more && *more) more = iterator->next(element);
    ASSERT_FALSE(more);
    EXPECT_THAT(more.error().message(), HasSubstr((folder / "b") + ", line 2: the function of map: not b2"));
  }
}

/// What a shuffle inside gives, for each element of the input and each pass.
TEST_P(Interleave, RandomOperationsInsideDifferByElementAndPass) {
  const auto shuffled = [](const Element&) { return Dataset::range(20).shuffle(20); };
  for (const bool parallel : {false, true}) {
    const Dataset dataset =
        Dataset::range(2).interleave(shuffled, {.cycle = 1, .block = 20, .parallel = parallel}).repeat(2);
    const Values all = collect(dataset, env(), {.seed = 5});
    std::set<std::vector<int64_t>> orders;
    for (size_t begin = 0; begin < all.size(); begin += 20) {
      std::vector<int64_t> order;
      for (size_t i = begin; i < begin + 20; ++i) order.push_back(all[i].numbers[0]);
      orders.insert(order);
    }
    EXPECT_EQ(orders.size(), 4u);
    EXPECT_EQ(collect(dataset, env(), {.seed = 5}), all);
    EXPECT_NE(collect(dataset, env(), {.seed = 5, .trainer_index = 1, .num_trainers = 2}), all);
    EXPECT_NE(collect(dataset, env()), all);
  }
}

/// A resume may read in the background what was read without it, and the other way round.
TEST_P(Interleave, APositionFitsBoth) {
  const auto shuffled = [](const Element& element) {
    return six_times(element).enumerate(0, "n").shuffle(3).map([](Element one) { return Element{one.features["n"], {}}; });
  };
  const auto with = [&](bool parallel) {
    return Dataset::range(7).interleave(shuffled, {.cycle = 3, .block = 2, .parallel = parallel});
  };
  for (const bool parallel : {false, true}) {
    const Values all = collect(with(parallel), env(), {.seed = 1});
    const auto iterator = open(with(parallel), env(), {.seed = 1});
    Element element;
    for (size_t i = 0; i < all.size(); ++i) {
      const Position position = value_or_raise(iterator->save());
      const auto other = open(with(!parallel), env(), {.seed = 1});
      ASSERT_TRUE(other->restore(position));
      EXPECT_EQ(drain(*other).values, Values(all.begin() + ptrdiff_t(i), all.end()));
      ASSERT_TRUE(*iterator->next(element));
    }
  }
}

TEST_P(Interleave, ADatasetThatIsAnotherOneAfterwardsIsRefused) {
  int64_t size = 5;
  const Dataset dataset = Dataset::range(3).flat_map([&](const Element&) { return Dataset::range(size); });
  const auto iterator = open(dataset, env());
  Element element;
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(*iterator->next(element));
  const Position position = value_or_raise(iterator->save());
  ASSERT_TRUE(open(dataset, env())->restore(position));
  size = 6;
  EXPECT_EQ(open(dataset, env())->restore(position).error().kind(), ErrorKind::kFailedPrecondition);
}

TEST(InterleaveInTheBackground, AllAreReadAtOnce) {
  const auto env = make_production_environment({.sink = [](const LogRecord&) {}, .pool_threads = 3});
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  bool together = true;
  const auto meets = [&](const Element&) {
    return Dataset::range(1).map([&](Element one) {
      std::unique_lock lock(mutex);
      ++inside;
      changed.notify_all();
      together = changed.wait_for(lock, std::chrono::seconds(30), [&] { return inside == 2; }) && together;
      return one;
    });
  };
  collect(Dataset::range(2).interleave(meets, {.cycle = 2, .parallel = true}), *env);
  EXPECT_TRUE(together);
}

TEST_P(Interleave, RefusesNumbersOutOfRange) {
  for (const InterleaveOptions options :
       {InterleaveOptions{.cycle = 0}, InterleaveOptions{.cycle = 5000}, InterleaveOptions{.block = 0}}) {
    EXPECT_EQ(raised([&] { return Dataset::range(1).interleave(six_times, options); })->kind(),
              ErrorKind::kInvalidArgument);
  }
  EXPECT_EQ(raised([] { return Dataset::range(1).flat_map(nullptr); })->kind(), ErrorKind::kInvalidArgument);
}

/// Whether elements keep their positions is known only when the inner dataset is made.
TEST_P(Interleave, SplitRefusesInnerDatasetsWhoseElementsMove) {
  const auto shuffled = [](const Element& element) {
    const int64_t first = element.features.single().as<int64_t>()[0] * 10;
    return Dataset::range(first, first + 10).shuffle(10);
  };
  const auto nested = [&](const Element& element) {
    return Dataset::from_tensors(element.features.single()).flat_map(shuffled);
  };
  for (const Dataset& dataset : {Dataset::range(3).flat_map(shuffled), Dataset::range(3).interleave(shuffled, {.cycle = 2}),
                                 Dataset::range(3).flat_map(nested), Dataset::range(3).flat_map(shuffled).batch(2)}) {
    EXPECT_EQ(drain(*open(dataset, env())).error, std::nullopt);
    for (const Dataset& side : {dataset.split(0.3).training, dataset.split(0.3).held_out}) {
      const Outcome outcome = drain(*open(side, env()));
      ASSERT_TRUE(outcome.error);
      EXPECT_EQ(outcome.error->kind(), ErrorKind::kInvalidArgument);
      EXPECT_THAT(outcome.error->message(),
                  testing::HasSubstr("a shuffle without a seed has another order in each iteration"));
    }
  }
  const auto plain = [](const Element& element) { return Dataset::range(element.features.single().as<int64_t>()[0]); };
  EXPECT_EQ(drain(*open(Dataset::range(5).flat_map(plain).split(0.3).training.shuffle(5), env())).error, std::nullopt);
}

TEST(InterleaveWarnings, TellOfShardsOfRandomInnerDatasets) {
  const auto inner = [](std::optional<int64_t> seed) {
    return [seed](const Element&) { return Dataset::range(10).shuffle(10, {.seed = seed}); };
  };
  const auto warnings_of = [](const Dataset& dataset) {
    VirtualWorld world(1);
    std::vector<std::string> warnings;
    collect(dataset, world.add_task({.sink = [&](const LogRecord& record) { warnings.emplace_back(record.message); }}));
    return warnings;
  };
  const std::vector<std::string> warnings = warnings_of(Dataset::range(3).flat_map(inner({})).shard(2, 0));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], testing::HasSubstr("some elements are lost and others repeat"));
  EXPECT_EQ(warnings_of(Dataset::range(3).flat_map(inner(1)).shard(2, 0)).size(), 0u);
  EXPECT_EQ(warnings_of(Dataset::range(3).shard(2, 0).flat_map(inner({}))).size(), 0u);
  EXPECT_EQ(warnings_of(Dataset::range(3).flat_map(inner({})).shard(1, 0)).size(), 0u);
}

}  // namespace
}  // namespace shoal::data
