// SPDX-License-Identifier: Apache-2.0
// What stages cost, in an environment whose clock the functions of a pipeline move on.
#include "shoal/data/input_statistics.h"

#include <gmock/gmock.h>

#include "collecting.h"
#include "shoal/base/forwarding_environment.h"

namespace shoal::data {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Its clock stands still but for take().
class CountedClock final : public ForwardingEnvironment {
 public:
  using ForwardingEnvironment::ForwardingEnvironment;
  SteadyTime now() const override { return SteadyTime(nanoseconds(taken_.load())); }
  void take(nanoseconds time) { taken_ += time.count(); }

 private:
  std::atomic<int64_t> taken_ = 0;
};

class InputStatisticsOf : public ::testing::Test {
 protected:
  MapFn taking(nanoseconds time) {
    return [this, time](Element element) {
      env_->take(time);
      return element;
    };
  }
  InputStatistics after_all(const Dataset& dataset) {
    const auto iterator = open(dataset, *env_, {.measure = true});
    drain(*iterator);
    return iterator->statistics();
  }
  static std::vector<std::string> names(const InputStatistics& statistics) {
    std::vector<std::string> names;
    for (const StageStatistics& stage : statistics.stages) names.push_back(stage.name);
    return names;
  }

  VirtualWorld world_{7};
  std::shared_ptr<Environment> inner_{&world_.add_task(), [](Environment*) {}};
  std::shared_ptr<CountedClock> env_ = std::make_shared<CountedClock>(inner_);
};

TEST_F(InputStatisticsOf, HaveEachStageWithItsOwnWork) {
  const InputStatistics all =
      after_all(Dataset::range(100).map(taking(microseconds(20))).batch(10).map(taking(microseconds(500))).prefetch(2));
  ASSERT_THAT(names(all), ElementsAre("range", "map", "batch", "map", "prefetch"));
  EXPECT_THAT(all.stages[1].seconds, DoubleNear(100 * 20e-6, 1e-9));
  EXPECT_THAT(all.stages[3].seconds, DoubleNear(10 * 500e-6, 1e-9));
  for (const size_t free : {0, 2, 4}) EXPECT_EQ(all.stages[free].seconds, 0) << free;
  EXPECT_EQ(all.stages[0].elements, 100u);
  EXPECT_EQ(all.stages[4].elements, 10u);
  EXPECT_TRUE(all.stages[0].is_source);
  EXPECT_FALSE(all.stages[1].is_source);
  EXPECT_TRUE(all.stages[3].is_beside);
  EXPECT_FALSE(all.stages[4].is_beside);
}

/// Cheap calls are measured now and then.
TEST_F(InputStatisticsOf, EstimateWhatIsNotMeasured) {
  const InputStatistics all = after_all(Dataset::range(100'000).map(taking(nanoseconds(40))).batch(100));
  EXPECT_THAT(all.stages[1].seconds, DoubleNear(100'000 * 40e-9, 0.01 * 100'000 * 40e-9));
}

TEST_F(InputStatisticsOf, CountTheFunctionsOfAParallelMap) {
  const InputStatistics all = after_all(Dataset::range(50).map(taking(microseconds(3)), {.parallel = 4}));
  ASSERT_THAT(names(all), ElementsAre("range", "map"));
  EXPECT_THAT(all.stages[1].seconds, DoubleNear(50 * 3e-6, 1e-9));
  EXPECT_EQ(all.stages[1].threads, 4);
}

TEST_F(InputStatisticsOf, CountWhatAStageReadsForItself) {
  const auto inner = [this](const Element&) { return Dataset::range(5).map(taking(microseconds(11))); };
  const InputStatistics all = after_all(Dataset::range(4).flat_map(inner).repeat(2));
  ASSERT_THAT(names(all), ElementsAre("range", "interleave", "repeat"));
  EXPECT_THAT(all.stages[1].seconds, DoubleNear(40 * 11e-6, 1e-9));
}

/// What is passed over costs the stage that passes it over.
TEST_F(InputStatisticsOf, CountWhatIsPassedOver) {
  const auto wanted = [this](const Element&) -> Result<bool> {
    env_->take(microseconds(20));
    return true;
  };
  const InputStatistics all = after_all(Dataset::range(60).filter(wanted).shard(3, 1));
  ASSERT_THAT(names(all), ElementsAre("range", "filter", "shard"));
  EXPECT_THAT(all.stages[1].seconds, DoubleNear(60 * 20e-6, 1e-9));
  EXPECT_EQ(all.stages[2].seconds, 0);
}

TEST_F(InputStatisticsOf, AreEmptyWhereNobodyMeasures) {
  const auto iterator = open(Dataset::range(3), *env_);
  drain(*iterator);
  EXPECT_TRUE(iterator->statistics().stages.empty());
  EXPECT_EQ(slowest_stage(iterator->statistics(), 2).name, "");
}

TEST_F(InputStatisticsOf, NameTheSlowestStageAndWhatToChange) {
  const InputStatistics serial = after_all(Dataset::range(30).map(taking(microseconds(20))).batch(10));
  const SlowestStage map = slowest_stage(serial, 2);
  EXPECT_EQ(map.name, "map");
  EXPECT_EQ(map.share, 1);
  EXPECT_THAT(map.advice, AllOf(HasSubstr("put prefetch() at the end"), HasSubstr("{.parallel = 2}")));
  EXPECT_THAT(slowest_stage({.stages = {{.name = "cache", .seconds = 1}}}, 1).advice, HasSubstr("{.compress = false}"));
  EXPECT_THAT(slowest_stage({.stages = {{.name = "range", .seconds = 1, .is_source = true}}}, 1).advice,
              HasSubstr("only hands out what is in memory"));
  // With one core neither helps.
  EXPECT_EQ(slowest_stage(serial, 1).advice,
            "make the function of map cheaper, or put cache() behind it if it gives the same in each pass");
  // Four threads share what one does in another stage.
  const InputStatistics two{.stages = {{.name = "csv", .seconds = 1, .is_beside = true, .is_source = true},
                                       {.name = "map", .seconds = 3, .threads = 4, .is_beside = true},
                                       {.name = "prefetch"}}};
  EXPECT_EQ(slowest_stage(two, 4).name, "csv");
  EXPECT_THAT(slowest_stage(two, 4).share, DoubleNear(1 / 1.75, 1e-9));
  EXPECT_EQ(slowest_stage(two, 4).advice,
            "read several files at once, by interleave(..., {.parallel = true}), or put cache() behind csv");
}

/// Behind a shuffle or a repeat each pass is another one, so that cache() would be wrong or never complete.
TEST_F(InputStatisticsOf, AdviseNoCacheBehindWhatShufflesOrRepeats) {
  const auto advice = [&](const Dataset& dataset) {
    const SlowestStage slowest = slowest_stage(after_all(dataset), 1);
    EXPECT_EQ(slowest.share, 1) << slowest.name;
    return slowest.advice;
  };
  const Dataset ten = Dataset::range(10);
  const MapFn slow = taking(microseconds(20));
  const std::string cheaper = "make the function of map cheaper";
  for (const Dataset& moved : {ten.shuffle(5), ten.repeat(2), ten.repeat().take(15), ten.shuffle(5).batch(2)}) {
    EXPECT_EQ(advice(moved.map(slow)), cheaper);
  }
  EXPECT_EQ(advice(ten.map(slow).shuffle(5).repeat(2)),
            cheaper + ", or put cache() behind it if it gives the same in each pass");
  EXPECT_EQ(advice(ten.shuffle(5, {.seed = 1, .reshuffle_each_iteration = false}).map(slow)),
            cheaper + ", or put cache() behind it if it gives the same in each pass");
  const auto all = [this](const Element&) -> Result<bool> {
    env_->take(microseconds(20));
    return true;
  };
  EXPECT_EQ(advice(ten.filter(all)), "put cache() behind filter if it gives the same in each pass");
  EXPECT_EQ(advice(ten.repeat(2).filter(all)), "make the function of filter cheaper");
  EXPECT_THAT(slowest_stage({.stages = {{.name = "batch", .seconds = 1, .is_moved = true}}}, 1).advice,
              AllOf(HasSubstr("give batch less to do"), Not(HasSubstr("cache()"))));
  const auto iterator = open(ten.repeat().batch(2), *env_, {.measure = true});
  const InputStatistics statistics = iterator->statistics();
  EXPECT_FALSE(statistics.stages[0].is_moved);
  for (const size_t behind : {1, 2}) EXPECT_TRUE(statistics.stages[behind].is_moved) << behind;
}

}  // namespace
}  // namespace shoal::data
