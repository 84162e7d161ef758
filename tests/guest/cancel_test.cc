// SPDX-License-Identifier: Apache-2.0
// Cancelling from another thread: also while an input element is being made, and with nothing lost by it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "calls.h"

namespace shoal::testing {
namespace {

using data::Dataset;
using data::Element;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr auto kDeadline = std::chrono::seconds(60);  // Only where something hangs does a test take as long.

/// Tells another thread that something has come so far.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kDeadline, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

/// The generator of a host: elements of a queue that is empty after `count`, where it waits for the next one.
Dataset from_a_queue(int64_t count, Gate& waits) {
  return Dataset::from_resumable_generator([count, &waits](int64_t first, StopToken stop) -> data::GeneratorFn {
    return [count, &waits, stop, i = first](Element& element) mutable -> Result<bool> {
      if (i == count) {
        Gate stopped;
        const StopCallback wake(stop, [&] { stopped.open(); });
        waits.open();
        if (!stopped.wait()) return internal_error("nobody stopped this generator");
        return cancelled();
      }
      Tensor x(DType::kFloat32, {2});
      x.mutable_as<float>()[0] = float(i % 7);
      x.mutable_as<float>()[1] = float(++i % 5);
      element = {data::TensorMap({{"x", x}}), Tensor::scalar<int64_t>(i % 2)};
      return true;
    };
  });
}

class Cancelling : public ::testing::Test {
 protected:
  RunConfig config() { return config_of(source_.token()); }
  RunConfig config_of(StopToken stop) {
    return RunConfig({.model_dir = "m",
                      .save_checkpoints_steps = 100,
                      .random_seed = 7,
                      .log_sink =
                          [this](const LogRecord& record) {
                            lines_.push_back(std::string(to_string(record.level)) + " " + std::string(record.message));
                          },
                      .storage = storage_,
                      .stop = std::move(stop)});
  }
  /// Runs `work` on a thread of its own, as a host does, and cancels it once `is_at_work`. True: it has ended.
  bool cancel(const std::function<void()>& work, const std::function<bool()>& is_at_work) {
    std::promise<void> promise;
    std::future<void> ended = promise.get_future();
    std::thread thread([&] {
      work();
      promise.set_value();
    });
    EXPECT_TRUE(is_at_work());
    source_.request_stop();
    const bool ended_in_time = ended.wait_for(kDeadline) == std::future_status::ready;
    thread.join();
    return ended_in_time;
  }
  std::vector<float> weights(const RunConfig& config) {
    const Tensor value = Estimator(guest_model, config).variable_value("dense/kernel");
    return {value.as<float>().begin(), value.as<float>().end()};
  }

  StopSource source_;
  std::shared_ptr<Storage> storage_ = make_memory_storage();
  std::vector<std::string> lines_;
};

TEST_F(Cancelling, TrainingSavesWhatThereIsWhileItsInputWaits) {
  Gate waits;
  Estimator estimator(guest_model, config());
  EXPECT_TRUE(cancel([&] { estimator.train(from_a_queue(20, waits).batch(8)); }, [&] { return waits.wait(); }));
  EXPECT_TRUE(estimator.latest_checkpoint()->ends_with("-2"));  // Two batches of eight, and four elements that come again.
  EXPECT_THAT(lines_, Contains(HasSubstr("training finished at global step 2 (interrupted)")));
  for (const std::string& line : lines_) EXPECT_THAT(line, Not(HasSubstr("position")));

  // The next start goes on with those four, and has the bits of a run that nobody cancelled.
  source_ = StopSource();
  Gate never;
  Estimator(guest_model, config()).train(from_a_queue(64, never).batch(8), {.max_steps = 5});
  const std::vector<float> cancelled_once = weights(config());
  storage_ = make_memory_storage();
  Estimator(guest_model, config()).train(from_a_queue(64, never).batch(8), {.max_steps = 5});
  EXPECT_EQ(cancelled_once, weights(config()));
}

TEST_F(Cancelling, TrainingEndsInEveryPipelineThatWaits) {
  const std::vector<std::function<Dataset(Dataset)>> around = {
      [](Dataset d) { return d.batch(8).prefetch(2); },
      [](Dataset d) {
        return d.map([](Element e) { return e; }, {.parallel = 3}).shuffle(1000).repeat().batch(8).prefetch();
      },
      [](Dataset d) { return d.cache().repeat().batch(8); },
      [](Dataset d) { return d.filter([](const Element&) { return false; }).batch(8); },
  };
  for (size_t i = 0; i < around.size(); ++i) {
    SCOPED_TRACE("around " + std::to_string(i));
    source_ = StopSource();
    storage_ = make_memory_storage();
    Gate waits;
    Estimator estimator(guest_model, config());
    EXPECT_TRUE(cancel([&] { estimator.train(around[i](from_a_queue(20, waits))); }, [&] { return waits.wait(); }));
  }
}

TEST_F(Cancelling, TrainingEndsWhereNoElementEverComes) {
  std::atomic<int64_t> looked{0};
  const auto busy = [&looked] {
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    while (looked < 5000 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return looked >= 5000;
  };
  const auto none = [&looked](const Element&) { return ++looked, false; };
  const auto count = [&looked](Element element) { return ++looked, element; };
  const std::vector<Dataset> datasets = {guest_data().repeat().filter(none).batch(8),
                                         guest_data().repeat().map(count).shuffle(INT64_MAX).batch(8),
                                         guest_data().repeat().filter(none).skip(INT64_MAX).batch(8)};
  for (size_t i = 0; i < datasets.size(); ++i) {
    SCOPED_TRACE("dataset " + std::to_string(i));
    looked = 0;
    source_ = StopSource();
    storage_ = make_memory_storage();
    Estimator estimator(guest_model, config());
    EXPECT_TRUE(cancel([&] { estimator.train(datasets[i], {.max_steps = 5}); }, busy));
    EXPECT_THAT(lines_, Contains(HasSubstr("interrupted before training began")));
    EXPECT_EQ(estimator.latest_checkpoint(), std::nullopt);
  }
}

TEST_F(Cancelling, TrainAndEvaluateReturnsBeforeItHasBegun) {
  Gate waits;
  Estimator estimator(guest_model, config());
  TrainAndEvaluateResult result;
  EXPECT_TRUE(cancel(
      [&] {
        result = train_and_evaluate(estimator, {.input_fn = from_a_queue(0, waits).batch(8), .max_steps = 5},
                                    {.input_fn = guest_data().batch(kBatch), .throttle_secs = 0});
      },
      [&] { return waits.wait(); }));
  EXPECT_FALSE(result.metrics);
}

TEST_F(Cancelling, TrainAndEvaluateSavesAndEvaluatesNoMore) {
  Gate waits;
  Estimator estimator(guest_model, config());
  TrainAndEvaluateResult result;
  EXPECT_TRUE(cancel(
      [&] {
        result = train_and_evaluate(estimator, {.input_fn = from_a_queue(20, waits).batch(8), .max_steps = 50},
                                    {.input_fn = guest_data().batch(kBatch), .throttle_secs = 0});
      },
      [&] { return waits.wait(); }));
  EXPECT_TRUE(result.report.interrupted);
  EXPECT_FALSE(result.metrics);
  EXPECT_TRUE(estimator.latest_checkpoint()->ends_with("-2"));
}

TEST_F(Cancelling, TrainAndEvaluateGivesUpAnEvaluationThatWaits) {
  Gate waits;
  Estimator estimator(guest_model, config().replace({.save_checkpoints_steps = 2}));
  TrainAndEvaluateResult result;
  EXPECT_TRUE(cancel(
      [&] {
        result = train_and_evaluate(estimator, {.input_fn = guest_data().repeat().batch(8), .max_steps = 50},
                                    {.input_fn = from_a_queue(20, waits).batch(8), .throttle_secs = 0});
      },
      [&] { return waits.wait(); }));
  EXPECT_TRUE(result.report.interrupted);
  EXPECT_FALSE(result.metrics);
  EXPECT_TRUE(estimator.latest_checkpoint()->ends_with("-2"));
  EXPECT_THAT(lines_, Contains(HasSubstr("given up: the program has cancelled its call")));
}

TEST_F(Cancelling, CallsThatSaveNothingEndWithCancelled) {
  Estimator trained(guest_model, config_of({}));
  trained.train(guest_data().batch(64), {.max_steps = 1});
  const auto none = [](Gate& waits) { return from_a_queue(0, waits).batch(8); };
  const std::vector<std::function<Result<void>(Estimator&, Gate&)>> calls = {
      [&](Estimator& e, Gate& waits) -> Result<void> {
        SHOAL_TRY_VOID(e.try_evaluate(none(waits)));
        return {};
      },
      [&](Estimator& e, Gate& waits) -> Result<void> {
        SHOAL_TRY_VOID(e.try_predict(none(waits)));
        return {};
      },
      [&](Estimator& e, Gate& waits) -> Result<void> {
        SHOAL_TRY_VOID(e.try_export_model("exports", none(waits)));
        return {};
      },
      [&](Estimator& e, Gate& waits) -> Result<void> {
        return call_user("statistics", [&] { columns::statistics_of(none(waits), {.env = e.config().environment()}); });
      },
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE("call " + std::to_string(i));
    source_ = StopSource();
    Gate waits;
    Estimator estimator(guest_model, config());
    Result<void> result;
    EXPECT_TRUE(cancel([&] { result = calls[i](estimator, waits); }, [&] { return waits.wait(); }));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind(), ErrorKind::kCancelled);
  }
}

TEST_F(Cancelling, ReplicasLoseNoBatchThatAnotherWaitedFor) {
  // Each replica has elements of its own, and the second one is stopped in its third batch.
  const auto batches = [this](bool stops) {
    return [this, stops](const InputContext& context) {
      const int replica = context.config.trainer_index();
      return Dataset::from_resumable_generator(
                 [this, stops, replica](int64_t first) -> data::GeneratorFn {
                   return [this, stops, replica, i = first](Element& element) mutable -> Result<bool> {
                     if (stops && replica == 1 && i == 20) source_.request_stop();
                     Tensor x(DType::kFloat32, {2});
                     x.mutable_as<float>()[0] = float(i % 7);
                     x.mutable_as<float>()[1] = float(++i % 5 + replica);
                     element = {data::TensorMap({{"x", x}}), Tensor::scalar<int64_t>((i + replica) % 2)};
                     return true;
                   };
                 },
                 {.depends_on_trainer = true})
          .batch(8);
    };
  };
  const auto replicated = [this] { return config().replace({.runtime = RuntimeOptions{.replicas = 2}}); };
  Estimator(guest_model, replicated()).train(batches(true), {.max_steps = 6});
  EXPECT_TRUE(Estimator(guest_model, config()).latest_checkpoint()->ends_with("-2"));
  source_ = StopSource();
  Estimator(guest_model, replicated()).train(batches(false), {.max_steps = 6});
  const std::vector<float> cancelled_once = weights(config());
  storage_ = make_memory_storage();
  Estimator(guest_model, replicated()).train(batches(false), {.max_steps = 6});
  EXPECT_EQ(cancelled_once, weights(config()));
}

TEST_F(Cancelling, AClusterOfThreadsEndsByTheStopOfItsConfig) {
  Gate waits;
  std::vector<TaskOutcome> outcomes;
  RunConfigOptions options;
  options.model_dir = "cluster";
  options.storage = storage_;
  options.log_sink = [](const LogRecord&) {};
  options.stop = source_.token();
  EXPECT_TRUE(cancel(
      [&] {
        outcomes = run_cluster({.ps = 1, .workers = 1},
                               [&](RunConfig config) {
                                 Estimator estimator(guest_model, std::move(config));
                                 train_and_evaluate(estimator, {.input_fn = from_a_queue(20, waits).batch(8)},
                                                    {.input_fn = guest_data().batch(kBatch)});
                               },
                               {.config = options});
      },
      [&] { return waits.wait(); }));
  for (const TaskOutcome& outcome : outcomes) EXPECT_TRUE(outcome.result) << outcome.task;
}

}  // namespace
}  // namespace shoal::testing
