// SPDX-License-Identifier: Apache-2.0
// A stop that is asked for while an element is made: within any stage, from any thread; and the position that is left then.
#include <sys/stat.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "collecting.h"
#include "csv_text.h"
#include "shoal/data/csv_columns.h"
#include "shoal/data/idx.h"
#include "tar_blocks.h"

namespace shoal::data {
namespace {

constexpr auto kDeadline = std::chrono::seconds(30);  // Only where something hangs does a test take as long.

const MapFn kUnchanged = [](Element element) { return element; };

/// Waits until its token stops, as a generator over a queue does; says when it has begun to.
class Waiting {
 public:
  Dataset dataset() {
    return Dataset::from_generator([this](StopToken stop) -> GeneratorFn {
      return [this, stop](Element&) -> Result<bool> {
        bool woken = false;
        const StopCallback wake(stop, [&] {
          const std::lock_guard lock(mutex_);
          woken = true;
          changed_.notify_all();
        });
        std::unique_lock lock(mutex_);
        waits_ = true;
        changed_.notify_all();
        if (!changed_.wait_for(lock, kDeadline, [&] { return woken; }))
          return internal_error("nobody stopped this generator");
        return cancelled();
      };
    });
  }
  bool wait_until_it_waits() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kDeadline, [this] { return waits_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool waits_ = false;
};

class Stopping : public ::testing::Test {
 protected:
  /// next() of `dataset` on a thread of its own, and a stop once `is_at_work`.
  Result<bool> stop_next(const Dataset& dataset, const std::function<bool()>& is_at_work) {
    const StopSource source;
    const auto env = make_production_environment({.sink = [](const LogRecord&) {}, .pool_threads = 2});
    const auto iterator = open(dataset, *env, {.stop = source.token()});
    std::promise<Result<bool>> promise;
    std::future<Result<bool>> ended = promise.get_future();
    std::thread caller([&] {
      Element element;
      promise.set_value(iterator->next(element));
    });
    EXPECT_TRUE(is_at_work());
    source.request_stop();
    EXPECT_EQ(ended.wait_for(kDeadline), std::future_status::ready);
    caller.join();
    return ended.get();
  }
};

TEST_F(Stopping, EndsAGeneratorThatWaits) {
  const std::vector<std::function<Dataset(Dataset)>> around = {
      [](Dataset d) { return d; },
      [](Dataset d) { return d.batch(4); },
      [](Dataset d) { return d.prefetch(2); },
      [](Dataset d) { return d.map(kUnchanged, {.parallel = 3}).shuffle(10).repeat().batch(2).prefetch(); },
      [](Dataset d) { return d.cache().unbatch().skip(3); },
      [](Dataset d) {
        return Dataset::zip({Dataset::range(9), std::move(d)});
      },
  };
  for (size_t i = 0; i < around.size(); ++i) {
    SCOPED_TRACE("around " + std::to_string(i));
    Waiting waiting;
    const Result<bool> next = stop_next(around[i](waiting.dataset()), [&] { return waiting.wait_until_it_waits(); });
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().kind(), ErrorKind::kCancelled);
    EXPECT_FALSE(next.error().cause());
  }
}

TEST_F(Stopping, EndsAGeneratorWhoseIteratorIsDestroyed) {
  Waiting waiting;
  const auto env = make_production_environment({.sink = [](const LogRecord&) {}, .pool_threads = 2});
  // The job of prefetch has an element at once, and is then in the generator.
  const Dataset dataset = Dataset::range(1).map(kUnchanged).concatenate(waiting.dataset()).prefetch(2);
  auto iterator = open(dataset, *env);
  EXPECT_EQ(drain(*iterator, 1).values, counting(0, 1));
  EXPECT_TRUE(waiting.wait_until_it_waits());
  iterator.reset();
}

TEST_F(Stopping, EndsEveryStageThatIsGivenNothing) {
  // A source that goes on for ever, and tells that it is asked.
  std::atomic<int64_t> made{0};
  const auto counted = [&made](Element element) { return ++made, element; };
  const Dataset endless = Dataset::range(1000).map(counted).repeat();
  const Dataset none = endless.filter([](const Element&) { return false; });
  const int64_t most = INT64_MAX;
  const std::vector<std::pair<const char*, Dataset>> cases = {
      {"filter", none},
      {"filter behind a cache",
       Dataset::range(1000).cache().repeat().map(counted).filter([](const Element&) { return false; })},
      {"shuffle", endless.shuffle(most)},
      {"skip by elements", endless.filter([](const Element&) { return true; }).skip(most)},
      {"shuffle behind a cache", Dataset::range(INT64_MAX).map(counted).cache().shuffle(most)},
      {"batch", endless.batch(most / 2)},
      {"padded batch", endless.padded_batch(most / 2)},
      {"batch of filter", none.batch(3)},
      {"unbatch", none.batch(2).unbatch()},
      {"zip", Dataset::zip({Dataset::range(4), none})},
      {"concatenate", none.concatenate(Dataset::range(4))},
      {"take", none.take(5)},
      {"shard", none.shard(3, 1)},
      {"enumerate", none.enumerate()},
      {"map", none.map(kUnchanged)},
      {"parallel map", none.map(kUnchanged, {.parallel = 3})},
      {"prefetch", none.prefetch(2)},
      {"split", Dataset::range(INT64_MAX).map(counted).filter([](const Element&) { return false; }).split(0.5).training},
      {"repeat", none.repeat()},
      {"random filter", endless.filter([](const Element&, RandomStream&) { return false; })},
      {"random map", none.map([](Element one, RandomStream&) { return one; })},
      {"ignore_errors", endless.map([](Element) -> Result<Element> { return data_loss("none"); }).ignore_errors(-1)},
      {"scan", none.scan({Tensor::scalar(1.0f), {}}, [](Element&, Element one) { return one; })},
      {"take_while", none.take_while([](const Element&) { return true; })},
      {"window", endless.window(INT32_MAX)},
      {"bucket_by_length", endless.bucket_by_length([](const Element&) { return int64_t(1); }, {.batch_sizes = {most}})},
      {"flat_map", endless.flat_map([](const Element&) { return Dataset::range(0); })},
      {"flat_map into an endless one", Dataset::range(1).flat_map([none](const Element&) { return none; })},
      {"interleave", Dataset::range(3).interleave([none](const Element&) { return none; }, {.cycle = 3})},
      {"interleave in the background",
       Dataset::range(3).interleave([none](const Element&) { return none; }, {.cycle = 3, .parallel = true})},
      {"sample_from", Dataset::sample_from({none, none})},
  };
  for (const auto& [name, dataset] : cases) {
    SCOPED_TRACE(name);
    made = 0;
    const Result<bool> next = stop_next(dataset, [&made] {
      const auto end = std::chrono::steady_clock::now() + kDeadline;
      while (made < 2000 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      return made >= 2000;
    });
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().kind(), ErrorKind::kCancelled);
  }
}

/// Without an element that is made: stages that skip by counting. Nobody knows when they are at work, so they are stopped before.
TEST_F(Stopping, EndsStagesThatOnlyCount) {
  const StopSource source;
  source.request_stop();
  const auto env = make_production_environment({.sink = [](const LogRecord&) {}});
  const Dataset repeated = Dataset::range(1).repeat();
  const std::vector<std::pair<const char*, Dataset>> cases = {
      {"skip over repeat", repeated.skip(INT64_MAX)},
      {"shard over repeat", repeated.shard(INT64_MAX, INT64_MAX - 1)},
      {"skip over split", Dataset::range(INT64_MAX).split(1e-12).training.skip(INT64_MAX)},
      {"skip over cache", Dataset::range(1).cache().repeat().skip(INT64_MAX)},
      {"range", Dataset::range(5)},
      {"slices", Dataset::from_tensor_slices(Tensor::of<int64_t>({2}, {1, 2}))},
      {"tensors", Dataset::from_tensors(Tensor::scalar<int64_t>(1))},
  };
  for (const auto& [name, dataset] : cases) {
    SCOPED_TRACE(name);
    const auto iterator = open(dataset, *env, {.stop = source.token()});
    Element element;
    const Result<bool> next = iterator->next(element);
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().kind(), ErrorKind::kCancelled);
    EXPECT_EQ(open(dataset, *env, {.stop = source.token()})->skip(INT64_MAX).error().kind(), ErrorKind::kCancelled);
  }
}

/// The storage of this machine, in which a stop comes with the second look at a file.
class StopsWhileReading : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
};

TEST_F(StopsWhileReading, FilesAreReadInPieces) {
  const std::string lines =
      folder_.write("lines", std::string(64 << 20, 'x'));  // One line, which is allowed to be as long.
  const StopSource source;
  const auto env = make_production_environment({.sink = [](const LogRecord&) {}});
  const auto iterator = open(Dataset::text_lines({lines}, {.line_bytes_max = 1 << 30}), *env, {.stop = source.token()});
  source.request_stop();
  Element element;
  EXPECT_EQ(iterator->next(element).error().kind(), ErrorKind::kCancelled);

  // Archives: a large file that is read, and many that are passed over.
  const std::string tar = folder_.write("large.tar", tar_entry("a.x", std::string(64 << 20, 'x')) + tar_entry("b.x", ""));
  for (const TarOptions& options : {TarOptions{}, TarOptions{.extensions = {"y"}}}) {
    const StopSource halfway;
    const auto samples = open(Dataset::tar_samples({tar}, options), *env, {.stop = halfway.token()});
    halfway.request_stop();
    EXPECT_EQ(samples->next(element).error().kind(), ErrorKind::kCancelled);
  }
  for (const Dataset& dataset : {Dataset::npy_rows({lines}), Dataset::json_lines({lines}, {.fields = {{"x"}}})}) {
    const auto stopped = open(dataset, *env, {.stop = source.token()});
    EXPECT_EQ(stopped->next(element).error().kind(), ErrorKind::kCancelled);
    EXPECT_EQ(stopped->skip(INT64_MAX).error().kind(), ErrorKind::kCancelled);
  }

  const auto storage = make_file_storage();
  const std::string idx = folder_.write("idx", std::string("\0\0\x08\x01\0\0\0\x02", 8) + "ab");
  EXPECT_EQ(read_idx(*storage, idx, {.stop = source.token()}).error().kind(), ErrorKind::kCancelled);
  EXPECT_TRUE(read_idx(*storage, idx));
  EXPECT_EQ(read_text(*storage, idx, 1000, source.token()).error().kind(), ErrorKind::kCancelled);
}

TEST_F(StopsWhileReading, LookingAtAllOfAFileEnds) {
  const StopSource source;
  const std::shared_ptr<Environment> env =
      make_production_environment({.sink = [](const LogRecord&) {}, .stop = source.token()});
  const std::string file = folder_.write("a.csv", "a,b\n1,2\n3,4\n");
  EXPECT_TRUE(infer_csv_columns(file, {.header_lines = 1}, {.env = env}));
  source.request_stop();
  EXPECT_EQ(infer_csv_columns(file, {.header_lines = 1}, {.env = env}).error().kind(), ErrorKind::kCancelled);
}

TEST_F(StopsWhileReading, APipeThatNobodyWritesIsRefused) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto env = make_production_environment({.sink = [](const LogRecord&) {}});
  Element element;
  EXPECT_EQ(open(Dataset::text_lines({pipe}), *env)->next(element).error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_EQ(open(Dataset::tar_samples({pipe}), *env)->next(element).error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_EQ(read_idx(env->storage(), pipe).error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_EQ(infer_csv_columns(pipe, {.header_lines = 1}).error().kind(), ErrorKind::kFailedPrecondition);
}

class PositionAfterAStop : public BothEnvironments {};
SHOAL_IN_BOTH_ENVIRONMENTS(PositionAfterAStop);

/// A stop in the middle of an element loses none, and repeats none.
TEST_P(PositionAfterAStop, IsThatBehindTheLastElement) {
  for (const int64_t at : {0, 1, 17, 18, 39, 40, 59}) {
    // Counts what it makes; the stop comes when it makes element `at`, which is in the middle of a batch.
    StopSource source;
    const auto resumable = [&source, at](std::shared_ptr<bool> armed) {
      return Dataset::from_resumable_generator([&source, at, armed](int64_t first) -> GeneratorFn {
        return [&source, at, armed, i = first](Element& element) mutable -> Result<bool> {
          if (i == at && *armed) source.request_stop();
          if (i == 60) return false;
          element = {Tensor::scalar<int64_t>(i++), {}};
          return true;
        };
      });
    };
    const std::vector<std::function<Dataset(Dataset)>> around = {
        [](Dataset d) { return d.batch(4); },
        [](Dataset d) { return d.shuffle(7, {.seed = 3}).batch(4); },
        [](Dataset d) { return d.map(kUnchanged, {.parallel = 3}).batch(4); },
        [](Dataset d) { return d.cache().repeat(2).shuffle(9).batch(5).prefetch(2); },
        [](Dataset d) { return d.filter([](const Element& e) { return value_of(e).numbers[0] % 3 != 0; }).batch(4); },
        [](Dataset d) { return d.window(4, {.shift = 2}); },
        [](Dataset d) {
          return d.bucket_by_length([](const Element& e) { return value_of(e).numbers[0] % 5; },
                                    {.boundaries = {2, 4}, .batch_sizes = {3}});
        },
        [](Dataset d) {
          return d
              .interleave([](const Element& e) { return Dataset::range(value_of(e).numbers[0] % 4); },
                          {.cycle = 3, .parallel = true})
              .batch(4);
        },
        [](Dataset d) {
          return d.map([](Element one, RandomStream& random) { return random.next_u32(), one; }, {.parallel = 2}).batch(4);
        },
    };
    for (size_t i = 0; i < around.size(); ++i) {
      SCOPED_TRACE("around " + std::to_string(i) + ", stopped at " + std::to_string(at));
      source = StopSource();
      const auto armed = std::make_shared<bool>(true);
      const Dataset dataset = around[i](resumable(armed));
      Values seen;
      Position position;
      {
        const auto iterator = open(dataset, env(), {.seed = 5, .stop = source.token()});
        Outcome outcome = drain(*iterator);
        ASSERT_TRUE(outcome.error);
        EXPECT_EQ(outcome.error->kind(), ErrorKind::kCancelled);
        EXPECT_EQ(iterator->ordinal(), outcome.values.size());
        position = value_or_raise(iterator->save());
        EXPECT_EQ(position.ordinal, outcome.values.size());
        seen = outcome.values;
      }
      *armed = false;
      const auto again = open(dataset, env(), {.seed = 5});
      ASSERT_TRUE(again->restore(position));
      const Outcome rest = drain(*again);
      ASSERT_FALSE(rest.error);
      seen.insert(seen.end(), rest.values.begin(), rest.values.end());
      EXPECT_EQ(seen, collect(dataset, env(), {.seed = 5}));
    }
  }
}

TEST_P(PositionAfterAStop, AnEndThatAStopBroughtIsNone) {
  StopSource source;
  bool armed = true;
  const Dataset dataset = Dataset::from_resumable_generator([&](int64_t first, StopToken stop) -> GeneratorFn {
    return [&, stop, i = first](Element& element) mutable -> Result<bool> {
      if (armed && i == 5) source.request_stop();
      if (stop.stop_requested() || i == 9) return false;  // As a queue says that is closed.
      element = {Tensor::scalar<int64_t>(i++), {}};
      return true;
    };
  });
  const auto iterator = open(dataset, env(), {.stop = source.token()});
  const Outcome outcome = drain(*iterator);
  EXPECT_EQ(outcome.values, counting(0, 5));
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->kind(), ErrorKind::kCancelled);
  const Position position = value_or_raise(iterator->save());
  armed = false;
  const auto again = open(dataset, env());
  ASSERT_TRUE(again->restore(position));
  EXPECT_EQ(drain(*again).values, counting(5, 9));
}

TEST_P(PositionAfterAStop, ASourceWithoutOneSaysSo) {
  StopSource source;
  const Dataset dataset = Dataset::from_generator([&]() -> GeneratorFn {
                            return [&, i = int64_t(0)](Element& element) mutable -> Result<bool> {
                              if (i == 3) source.request_stop();
                              element = {Tensor::scalar<int64_t>(i++), {}};
                              return true;
                            };
                          }).batch(2);
  const auto iterator = open(dataset, env(), {.stop = source.token()});
  EXPECT_EQ(drain(*iterator).error->kind(), ErrorKind::kCancelled);
  const auto saved = iterator->save();
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().message().find("use from_resumable_generator"), std::string::npos);
}

}  // namespace
}  // namespace shoal::data
