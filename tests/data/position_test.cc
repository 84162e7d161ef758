// SPDX-License-Identifier: Apache-2.0
// DS-22: a position saved after any element continues with the element that would have come.
#include <algorithm>

#include "random_pipeline.h"
#include "shoal/base/random.h"

namespace shoal::data {
namespace {

class Positions : public BothEnvironments {};
SHOAL_IN_BOTH_ENVIRONMENTS(Positions);

struct Iteration {
  Outcome outcome;
  std::vector<Position> positions;  // Position i is that before element i; the last one is after the end.
};

Iteration run_and_save(const Dataset& dataset, Environment& env, IterateOptions options) {
  Iteration run;
  const std::unique_ptr<Iterator> iterator = open(dataset, env, options);
  Element element;
  while (true) {
    run.positions.push_back(value_or_raise(iterator->save()));
    const Result<bool> more = iterator->next(element);
    if (!more) run.outcome.error = more.error();
    if (!more || !*more) break;
    run.outcome.values.push_back(value_of(element));
  }
  if (!run.outcome.error) run.positions.push_back(value_or_raise(iterator->save()));
  return run;
}

void expect_continues(const Iteration& run, size_t from, Iterator& iterator) {
  const Result<void> restored = iterator.restore(run.positions[from]);
  ASSERT_TRUE(restored) << restored.error().message();
  const size_t first = std::min(from, run.outcome.values.size());
  EXPECT_EQ(iterator.ordinal(), first);
  const Position again = value_or_raise(iterator.save());
  EXPECT_EQ(again.ordinal, first);
  const Outcome rest = drain(iterator);
  EXPECT_EQ(rest.values, Values(run.outcome.values.begin() + ptrdiff_t(first), run.outcome.values.end()));
  ASSERT_EQ(rest.error.has_value(), run.outcome.error.has_value());
  if (rest.error) {
    EXPECT_EQ(rest.error->message(), run.outcome.error->message());
  }
}

TEST_P(Positions, RandomPipelinesContinueFromEveryElement) {
  int64_t restored = 0;
  for (uint64_t seed = 0; seed < number_of("SHOAL_TEST_PIPELINES", 600); ++seed) {
    const RandomPipeline pipeline(seed, true, 7);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + pipeline.text());
    IterateOptions options;
    if (seed % 3 != 0) options.seed = int64_t(seed);
    const Iteration run = run_and_save(pipeline.dataset(), env(), options);
    if (run.positions.size() > 120) continue;
    // What they pass over by seeking may fail unseen, and a map with threads seeks only before it has read ahead.
    const bool seeks =
        pipeline.text().find(".shard(") != std::string::npos || pipeline.text().find(".window(") != std::string::npos;
    if (run.outcome.error && seeks) continue;
    const std::unique_ptr<Iterator> used = open(pipeline.dataset(), env(), options);
    for (size_t i = 0; i < run.positions.size(); ++i) {
      SCOPED_TRACE("from element " + std::to_string(i));
      expect_continues(run, i, *open(pipeline.dataset(), env(), options));  // Its fresh entropy must not matter.
      expect_continues(run, i, *used);                                      // It goes on from anywhere, even the end.
      ++restored;
      if (HasFatalFailure() || HasFailure()) return;
    }
  }
  EXPECT_GT(restored, 3000);
}

TEST_P(Positions, ARestoredIteratorSavesPositionsAsGoodAsTheFirst) {
  for (uint64_t seed = 1000; seed < 1150; ++seed) {
    const RandomPipeline pipeline(seed, true, 7);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + pipeline.text());
    const Iteration run = run_and_save(pipeline.dataset(), env(), {});
    if (run.positions.size() > 200) continue;
    // A chain of lives, each of one element.
    Position position = run.positions[0];
    Element element;
    for (const Value& expected : run.outcome.values) {
      const std::unique_ptr<Iterator> iterator = open(pipeline.dataset(), env());
      const Result<void> restored = iterator->restore(position);
      ASSERT_TRUE(restored) << restored.error().message();
      const Result<bool> more = iterator->next(element);
      ASSERT_TRUE(more && *more);
      ASSERT_EQ(value_of(element), expected);
      ASSERT_TRUE(iterator->save_to(position));
    }
  }
}

TEST_P(Positions, ShuffleOfAnEndlessInputContinuesFarFromItsBeginning) {
  int64_t opened_at = -1;
  const Dataset endless = Dataset::from_resumable_generator([&](int64_t first) {
    opened_at = first;
    return [next = first](Element& element) mutable -> Result<bool> {
      element = {Tensor::scalar<int64_t>(next++), {}};
      return true;
    };
  });
  const Dataset shuffled = endless.shuffle(50, {.seed = 1});
  const std::unique_ptr<Iterator> iterator = open(shuffled, env());
  ASSERT_EQ(value_or_raise(iterator->skip(100000)), 100000);
  const Position position = value_or_raise(iterator->save());
  const Values expected = drain(*iterator, 500).values;
  const std::unique_ptr<Iterator> resumed = open(shuffled, env());
  ASSERT_TRUE(resumed->restore(position));
  EXPECT_EQ(drain(*resumed, 500).values, expected);
  EXPECT_GT(opened_at, 98000);  // The input was not replayed from its beginning.
  EXPECT_LT(position.state.size(), 64u);
}

TEST_P(Positions, ArbitrarilyManySmallStepsKeepTheAnchorCloseForLargeBuffers) {
  const Dataset shuffled = Dataset::range(5000).repeat().shuffle(700);
  const std::unique_ptr<Iterator> iterator = open(shuffled, env());
  Position position;
  for (int step = 0; step < 30; ++step) {
    ASSERT_EQ(value_or_raise(iterator->skip(997)), 997);
    ASSERT_TRUE(iterator->save_to(position));
    const std::unique_ptr<Iterator> resumed = open(shuffled, env());
    ASSERT_TRUE(resumed->restore(position));
    const std::unique_ptr<Iterator> original = open(shuffled, env());
    ASSERT_TRUE(original->restore(position));
    ASSERT_EQ(drain(*resumed, 800).values, drain(*original, 800).values);
  }
  // Another life reads the same as the first goes on to read.
  const std::unique_ptr<Iterator> resumed = open(shuffled, env());
  ASSERT_TRUE(resumed->restore(position));
  EXPECT_EQ(drain(*resumed, 3000).values, drain(*iterator, 3000).values);
}

TEST_P(Positions, WithoutOrderNothingIsLostOrRepeated) {
  const Dataset any_order =
      Dataset::range(60).map([](Element element) { return element; }, {.parallel = 5, .deterministic = false});
  for (size_t cut = 0; cut <= 60; ++cut) {
    const std::unique_ptr<Iterator> first = open(any_order, env());
    Values seen = drain(*first, cut).values;
    const Position position = value_or_raise(first->save());
    const std::unique_ptr<Iterator> second = open(any_order, env());
    ASSERT_TRUE(second->restore(position));
    const Values middle = drain(*second, 3).values;
    seen.insert(seen.end(), middle.begin(), middle.end());
    const std::unique_ptr<Iterator> third = open(any_order, env());
    ASSERT_TRUE(third->restore(value_or_raise(second->save())));
    const Values rest = drain(*third).values;
    seen.insert(seen.end(), rest.begin(), rest.end());
    std::sort(seen.begin(), seen.end(), [](const Value& a, const Value& b) { return a.numbers < b.numbers; });
    ASSERT_EQ(seen, counting(0, 60)) << "cut at " << cut;
  }
}

class PositionRefusals : public WithEnvironment {};

TEST_F(PositionRefusals, AChangedPipelineIsRefused) {
  const Dataset base = Dataset::range(10).shuffle(4).batch(2);
  const Position position = value_or_raise(open(base, env())->save());
  const std::vector<Dataset> others = {Dataset::range(11).shuffle(4).batch(2),
                                       Dataset::range(10).shuffle(5).batch(2),
                                       Dataset::range(10).shuffle(4, {.seed = 1}).batch(2),
                                       Dataset::range(10).batch(2).shuffle(4),
                                       Dataset::range(10).shuffle(4).batch(3),
                                       Dataset::range(10).shuffle(4).batch(2).repeat(),
                                       Dataset::range(10).shuffle(4, {.reshuffle_each_iteration = false}).batch(2),
                                       Dataset::range(10).shuffle(4).batch(2, {.drop_remainder = true})};
  for (const Dataset& other : others) {
    const std::unique_ptr<Iterator> iterator = open(other, env());
    const Result<void> restored = iterator->restore(position);
    ASSERT_FALSE(restored);
    EXPECT_EQ(restored.error().kind(), ErrorKind::kFailedPrecondition);
    EXPECT_FALSE(drain(*iterator, 3).values.empty());  // It starts at its beginning.
  }
}

TEST_F(PositionRefusals, PrefetchAndThreadsAreNoChange) {
  const auto same = [](Element element) { return element; };
  const Dataset slow = Dataset::range(10).map(same).batch(2);
  const Dataset fast = Dataset::range(10).map(same, {.parallel = 4}).batch(2).prefetch(3);
  EXPECT_EQ(slow.fingerprint(), fast.fingerprint());
  const std::unique_ptr<Iterator> first = open(slow, env());
  drain(*first, 2);
  const std::unique_ptr<Iterator> second = open(fast, env());
  ASSERT_TRUE(second->restore(value_or_raise(first->save())));
  EXPECT_EQ(drain(*second).values[0], Value({2}, {4, 5}));
}

TEST_F(PositionRefusals, DamagedBytesAreRefusedAndNeverMore) {
  const Dataset dataset = Dataset::range(30).shuffle(7).repeat(3).batch(4).cache().prefetch(2);
  const std::unique_ptr<Iterator> iterator = open(dataset, env());
  drain(*iterator, 9);
  const Position good = value_or_raise(iterator->save());
  ASSERT_GT(good.state.size(), 16u);
  for (size_t i = 0; i < good.state.size(); ++i) {
    Position cut = good;
    cut.state.resize(i);
    EXPECT_EQ(iterator->restore(cut).error().kind(), ErrorKind::kFailedPrecondition);
    for (int bit = 0; bit < 8; ++bit) {
      Position flipped = good;
      flipped.state[i] = char(flipped.state[i] ^ (1 << bit));
      const Result<void> restored = iterator->restore(flipped);
      ASSERT_FALSE(restored);
      EXPECT_EQ(restored.error().kind(), ErrorKind::kFailedPrecondition);
    }
  }
  EXPECT_TRUE(iterator->restore(good));
}

TEST_F(PositionRefusals, NumbersThatDoNotFitAreRefusedEvenWithAGoodCheck) {
  const Dataset dataset = Dataset::range(30).shuffle(7).repeat(3).shard(3, 1).batch(4);
  const std::unique_ptr<Iterator> iterator = open(dataset, env());
  drain(*iterator, 3);
  const Position good = value_or_raise(iterator->save());
  const size_t body = good.state.size() - 8;
  int refused = 0, accepted = 0;
  for (size_t i = 1; i < body; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      Position forged = good;
      forged.state[i] = char(forged.state[i] ^ (1 << bit));
      const uint64_t check = fold_in(RandomKey(0), std::string_view(forged.state).substr(0, body));
      for (int byte = 0; byte < 8; ++byte) forged.state[body + size_t(byte)] = char(check >> (8 * byte));
      const Result<void> restored = iterator->restore(forged);
      (restored ? accepted : refused) += 1;  // Another key or pass is as good as the true one.
      if (!restored) {
        EXPECT_EQ(restored.error().kind(), ErrorKind::kFailedPrecondition);
      }
      EXPECT_FALSE(drain(*iterator, 100).error);
    }
  }
  EXPECT_GT(refused, 50);
}

TEST_F(PositionRefusals, AnOpaqueGeneratorSaysSo) {
  const Dataset opaque = Dataset::from_generator([] {
    return [i = int64_t(0)](Element& element) mutable -> Result<bool> {
      element = {Tensor::scalar<int64_t>(i), {}};
      return i++ < 5;
    };
  });
  for (const Dataset& dataset : {opaque, opaque.shuffle(3), opaque.prefetch(2), opaque.cache(), opaque.batch(2).unbatch(),
                                 opaque.map([](Element element) { return element; }, {.parallel = 3})}) {
    const std::unique_ptr<Iterator> iterator = open(dataset, env());
    EXPECT_EQ(iterator->save().error().kind(), ErrorKind::kFailedPrecondition);
    EXPECT_EQ(drain(*iterator, 3).values.size(), 3u);
    EXPECT_EQ(iterator->save().error().kind(), ErrorKind::kFailedPrecondition);
    EXPECT_EQ(drain(*iterator).values.size(), 2u);
  }
  EXPECT_EQ(collect(opaque.repeat(2), env()), values({0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace shoal::data
