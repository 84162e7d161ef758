// SPDX-License-Identifier: Apache-2.0
// Stages with jobs: prefetch and parallel map. Errors mid-stream (DS-7), bounds (DS-8), and nothing left behind.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "collecting.h"

namespace shoal::data {
namespace {

class Background : public BothEnvironments {};
SHOAL_IN_BOTH_ENVIRONMENTS(Background);

const MapFn kSame = [](Element element) { return element; };

/// Fails for the number `at`.
MapFn failing(int64_t at) {
  return [at](Element element) -> Result<Element> {
    if (value_of(element).numbers[0] == at) return data_loss("record " + std::to_string(at) + " is damaged");
    return element;
  };
}

TEST_P(Background, AnErrorComesAtItsElementsTurnAndStays) {
  const std::vector<Dataset> datasets = {
      Dataset::range(20).map(failing(5)),
      Dataset::range(20).map(failing(5), {.parallel = 4}),
      Dataset::range(20).map(failing(5)).prefetch(3),
      Dataset::range(20).map(failing(5), {.parallel = 4}).map(kSame, {.parallel = 3}).prefetch(2),
      Dataset::range(20).map(failing(5)).cache().repeat(),
      Dataset::range(20).map(failing(5)).shuffle(1),
      Dataset::range(20).map(failing(5)).concatenate(Dataset::range(3)),
      Dataset::range(20).map(failing(5)).batch(1).unbatch()};
  for (size_t i = 0; i < datasets.size(); ++i) {
    SCOPED_TRACE("dataset " + std::to_string(i));
    const std::unique_ptr<Iterator> iterator = open(datasets[i], env());
    const Outcome outcome = drain(*iterator);
    EXPECT_EQ(outcome.values, counting(0, 5));
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->kind(), ErrorKind::kDataLoss);
    EXPECT_EQ(outcome.error->message(),
              "input element 5: element 5 of the input of map (counted from 0): the function of map: record 5 is damaged");
    Element element;
    EXPECT_EQ(iterator->next(element).error(), *outcome.error);
    EXPECT_EQ(iterator->skip(1).error(), *outcome.error);
    EXPECT_EQ(iterator->save().error().kind(), ErrorKind::kFailedPrecondition);
    EXPECT_EQ(iterator->ordinal(), 5u);
  }
}

TEST_P(Background, AnExceptionOfTheUserComesOutUnchanged) {
  const MapFn throws = [](Element) -> Element { throw std::range_error("mine"); };
  for (const MapOptions& options : {MapOptions{}, MapOptions{.parallel = 3}}) {
    const Outcome outcome = drain(*open(Dataset::range(3).map(throws, options).prefetch(2), env()));
    ASSERT_TRUE(outcome.error);
    ASSERT_TRUE(outcome.error->cause());
    EXPECT_THROW(raise(*outcome.error), std::range_error);
  }
  const Outcome filtered = drain(*open(Dataset::range(3).filter([](const Element&) -> bool { throw 5; }), env()));
  ASSERT_TRUE(filtered.error);
  EXPECT_THROW(raise(*filtered.error), int);
  const Dataset generated = Dataset::from_generator([]() -> GeneratorFn { throw std::range_error("at once"); });
  EXPECT_THROW(raise(*drain(*open(generated, env())).error), std::range_error);
}

TEST_P(Background, AnErrorAfterARestoreIsForgotten) {
  bool broken = true;
  const Dataset dataset = Dataset::range(9)
                              .map([&](Element element) -> Result<Element> {
                                if (broken && value_of(element).numbers[0] == 5) return unavailable("the disk is away");
                                return element;
                              })
                              .prefetch(2);
  const std::unique_ptr<Iterator> iterator = open(dataset, env());
  drain(*iterator, 3);
  const Position position = value_or_raise(iterator->save());
  EXPECT_TRUE(drain(*iterator).error);
  broken = false;
  ASSERT_TRUE(iterator->restore(position));
  EXPECT_EQ(drain(*iterator).values, counting(3, 9));
}

TEST_P(Background, ReadsAheadWhatItWasToldAndNoMore) {
  for (const int64_t ahead : {1, 3}) {
    std::atomic<int64_t> made{0};
    const Dataset counted = Dataset::range(1000).map([&](Element element) { return ++made, element; });
    const std::unique_ptr<Iterator> iterator = open(counted.prefetch(ahead), env());
    EXPECT_EQ(made, 0);  // Nothing is made before the first next().
    Element element;
    for (int64_t handed_out = 1; handed_out <= 100; ++handed_out) {
      ASSERT_TRUE(value_or_raise(iterator->next(element)));
      EXPECT_LE(made, handed_out + ahead + 1);  // One more may be under way.
    }
  }
  std::atomic<int64_t> made{0};
  const Dataset parallel = Dataset::range(1000).map([&](Element element) { return ++made, element; }, {.parallel = 4});
  const std::unique_ptr<Iterator> iterator = open(parallel, env());
  Element element;
  for (int64_t handed_out = 1; handed_out <= 100; ++handed_out) {
    ASSERT_TRUE(value_or_raise(iterator->next(element)));
    EXPECT_LE(made, handed_out + 4);
  }
}

TEST(Threads, ParallelMapCallsThatManyAtOnce) {
  const auto env = make_production_environment({.sink = [](const LogRecord&) {}, .pool_threads = 3});
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0, inside_max = 0;
  // Each call waits until three are inside (or the deadline shows that they are not).
  const Dataset dataset = Dataset::range(3).map(
      [&](Element element) {
        std::unique_lock lock(mutex);
        inside_max = std::max(inside_max, ++inside);
        changed.notify_all();
        changed.wait_for(lock, std::chrono::seconds(30), [&] { return inside_max == 3; });
        return element;
      },
      {.parallel = 3});
  EXPECT_EQ(collect(dataset, *env), counting(0, 3));
  EXPECT_EQ(inside_max, 3);
}

TEST(Threads, AMapFindsHowManyCallsItNeeds) {
  const auto env = make_production_environment({.sink = [](const LogRecord&) {}, .pool_threads = 6});
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0, inside_max = 0;
  // A call waits until four are inside: the two with which the map begins would wait for the deadline.
  const Dataset dataset = Dataset::range(40).map(
      [&](Element element) {
        std::unique_lock lock(mutex);
        inside_max = std::max(inside_max, ++inside);
        changed.notify_all();
        changed.wait_for(lock, std::chrono::seconds(30), [&] { return inside_max >= 4; });
        --inside;
        return element;
      },
      {.parallel = -1});
  EXPECT_EQ(collect(dataset, *env), counting(0, 40));
  EXPECT_GE(inside_max, 4);
  EXPECT_LE(inside_max, 7);  // The six threads of the pool, and the consumer.
}

TEST(Threads, OrderIsKeptWhenLaterCallsAreQuicker) {
  const auto env = make_production_environment({.sink = [](const LogRecord&) {}, .pool_threads = 3});
  std::mutex mutex;
  std::condition_variable changed;
  bool second_done = false;
  const MapFn first_waits_for_second = [&](Element element) {
    std::unique_lock lock(mutex);
    const int64_t number = value_of(element).numbers[0];
    if (number == 0) changed.wait_for(lock, std::chrono::seconds(30), [&] { return second_done; });
    if (number == 1) second_done = true;
    changed.notify_all();
    return element;
  };
  EXPECT_EQ(collect(Dataset::range(4).map(first_waits_for_second, {.parallel = 2}), *env), counting(0, 4));
  second_done = false;
  // Without order the second comes first: the first waits for it. (The consumer may take up the first itself, so three
  // inputs are read: two for jobs.)
  const Values any = collect(Dataset::range(4).map(first_waits_for_second, {.parallel = 3, .deterministic = false}), *env);
  EXPECT_EQ(any.size(), 4u);
}

TEST(Threads, NestedStagesOnAPoolOfOneThreadDoNotWaitForEachOther) {
  const auto env = make_production_environment({.sink = [](const LogRecord&) {}, .pool_threads = 1});
  Dataset dataset = Dataset::range(500);
  for (int i = 0; i < 4; ++i) dataset = dataset.map(kSame, {.parallel = 3}).prefetch(2);
  EXPECT_EQ(collect(dataset, *env), counting(0, 500));
}

int64_t threads_of_this_process() {
  int64_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

TEST_P(Background, TenThousandIteratorsLeaveNothingBehind) {
  std::atomic<int64_t> alive{0};
  struct Counted {
    std::atomic<int64_t>* count;
    explicit Counted(std::atomic<int64_t>* c) : count(c) { ++*count; }
    Counted(const Counted& other) : count(other.count) { ++*count; }
    ~Counted() { --*count; }
  };
  const Dataset generated = Dataset::from_generator([&]() -> GeneratorFn {
    return [token = Counted(&alive), i = int64_t(0)](Element& element) mutable -> Result<bool> {
      element = {Tensor::scalar<int64_t>(i++), {}};
      return true;
    };
  });
  const Dataset dataset = generated.map(kSame, {.parallel = 2}).shuffle(5).batch(2).prefetch(2);
  collect(dataset, env(), {}, 10);  // The pool's threads have started after this.
  const int64_t threads = threads_of_this_process();
  for (int i = 0; i < 10000; ++i) {
    const std::unique_ptr<Iterator> iterator = open(dataset, env());
    drain(*iterator, size_t(i % 4));
  }
  EXPECT_EQ(threads_of_this_process(), threads);
  EXPECT_EQ(alive, 0);
}

TEST_P(Background, DestroyingStopsAJobThatWouldNeverEnd) {
  if (!has_threads()) GTEST_SKIP() << "inline, such a pipeline never gives control back";
  std::atomic<int64_t> looked{0};
  const Dataset endless = Dataset::range(10).repeat().filter([&](const Element& element) {
    return looked++ < 1 && value_of(element).numbers[0] == 0;  // Only the first passes.
  });
  for (const Dataset& dataset : {endless.prefetch(1), endless.batch(1).prefetch(2), endless.prefetch(1).prefetch(1)}) {
    looked = 0;
    std::unique_ptr<Iterator> iterator = open(dataset, env());
    EXPECT_EQ(drain(*iterator, 1).values.size(), 1u);
    while (looked < 1000) std::this_thread::yield();  // The job is in its endless loop then; ctest bounds the wait.
    iterator.reset();
    const int64_t after = looked;
    std::this_thread::yield();
    EXPECT_EQ(looked, after);
  }
}

TEST(Threads, AnEnvironmentWhosePoolRefusesStillYields) {
  VirtualWorld world(1);
  Environment& env = world.add_task();
  world.kill(env);
  EXPECT_EQ(collect(Dataset::range(20).map(kSame, {.parallel = 3}).prefetch(4), env), counting(0, 20));
}

}  // namespace
}  // namespace shoal::data
