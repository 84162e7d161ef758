// SPDX-License-Identifier: Apache-2.0
// A host's own log: every line of Shoal comes there, and none to the standard streams.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "calls.h"

namespace shoal::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// What comes to standard output and error of this process meanwhile.
class Streams {
 public:
  explicit Streams(const std::string& file) : file_(file) {
    std::fflush(nullptr);
    const int to = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
      before_[number] = ::dup(number);
      ::dup2(to, number);
    }
    ::close(to);
  }
  std::string end() {
    std::fflush(nullptr);
    for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
      ::dup2(before_[number], number);
      ::close(before_[number]);
    }
    std::ifstream file(file_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  const std::string file_;
  int before_[3] = {};
};

/// A host's logger, without a lock: one line at a time is promised.
struct HostLog {
  std::vector<std::string> lines;
  std::set<std::string> tasks;
  int inside = 0, worst = 0;
  LogSink sink() {
    return [this](const LogRecord& record) {
      worst = std::max(worst, ++inside);
      lines.push_back(std::string(to_string(record.level)) + " " + std::string(record.message));
      tasks.emplace(record.task);
      --inside;
    };
  }
};

RunConfig config_with(LogSink sink, const std::string& model_dir) {
  return RunConfig({.model_dir = model_dir,
                    .save_checkpoints_steps = 2,
                    .log_step_count_steps = 2,
                    .random_seed = 7,
                    .log_sink = std::move(sink)});
}

/// Everything that says something, from training to a warning about a table.
void make_noise(const RunConfig& config, const TemporaryFolder& folder) {
  Estimator estimator(guest_model, config);
  const auto batches = guest_data().repeat().batch(kBatch);
  train_and_evaluate(
      estimator, {.input_fn = batches, .max_steps = 5},
      {.input_fn = guest_data().batch(kBatch), .throttle_secs = 0, .exporters = {latest_exporter("latest")}});
  estimator.train(batches, {.steps = 2});
  estimator.evaluate(guest_data().batch(kBatch));
  while (estimator.predict(guest_data().batch(kBatch))->next()) break;
  load_exported_model(estimator.export_model(folder / "exports", guest_data().batch(4)));
  const std::string table = folder.write("a.csv", "id\n16777217\n1\n\n");
  data::csv_columns(table, {.header_lines = 1, .missing_labels = true}, {.numbers = {"id"}, .env = config.environment()});
  EXPECT_THROW(estimator.train(throwing_data().batch(kBatch), {.steps = 50}), std::exception);
}

TEST(LogSinkOfAHost, GetsEveryLineAndStandardStreamsNone) {
  const TemporaryFolder folder;
  HostLog log;
  Streams streams(folder / "streams");
  make_noise(config_with(log.sink(), folder / "model"), folder);
  EXPECT_EQ(streams.end(), "");
  EXPECT_THAT(log.lines, Contains(HasSubstr("training finished at global step 5 (max_steps)")));
  EXPECT_THAT(log.lines, Contains(HasSubstr("evaluation: ")));
  EXPECT_EQ(log.worst, 1);
}

TEST(LogSinkOfAHost, IsCalledByOneThreadAtATimeWhateverTheConfigDoes) {
  const TemporaryFolder folder;
  HostLog log;
  const RunConfig config = config_with(log.sink(), folder / "model");
  Estimator(guest_model, config).train(guest_data().repeat().batch(kBatch), {.max_steps = 3});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&config] {
      Estimator estimator(guest_model, config);
      for (int j = 0; j < 3; ++j) estimator.evaluate(guest_data().batch(kBatch), {.steps = 1});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log.worst, 1);
  EXPECT_GE(std::ranges::count_if(log.lines, [](auto& line) { return line.find("evaluation: ") != line.npos; }), 12);
}

TEST(LogSinkOfAHost, GetsTheLinesOfAllTasksOfAClusterOfThreads) {
  const TemporaryFolder folder;
  HostLog log;
  Streams streams(folder / "streams");
  run_cluster({.ps = 1, .workers = 1, .evaluator = true},
              [](RunConfig config) {
                Estimator estimator(guest_model, std::move(config));
                train_and_evaluate(estimator, {.input_fn = guest_data().repeat().batch(kBatch), .max_steps = 6},
                                   {.input_fn = guest_data().batch(kBatch), .throttle_secs = 0});
              },
              {.config = {.model_dir = folder / "model", .log_sink = log.sink()}});
  EXPECT_EQ(streams.end(), "");
  EXPECT_EQ(log.worst, 1);
  for (const char* task : {"chief 0", "ps 0", "worker 0", "evaluator 0"}) EXPECT_TRUE(log.tasks.contains(task)) << task;
}

TEST(LogSinkOfAHost, ThatThrowsStopsNothing) {
  const TemporaryFolder folder;
  int lines = 0, taken = 0;
  std::string last;
  Streams streams(folder / "streams");
  Estimator estimator(guest_model, config_with(
                                       [&](const LogRecord& record) {
                                         if (++lines % 2 == 1) throw std::runtime_error("the host's queue is full");
                                         ++taken;
                                         last = record.message;
                                       },
                                       folder / "model"));
  train_and_evaluate(estimator, {.input_fn = guest_data().repeat().batch(kBatch), .max_steps = 5},
                     {.input_fn = guest_data().batch(kBatch), .throttle_secs = 0});
  EXPECT_EQ(streams.end(), "");
  EXPECT_GT(taken, 2);
  EXPECT_TRUE(estimator.latest_checkpoint()->ends_with("-5")) << *estimator.latest_checkpoint();
}

}  // namespace
}  // namespace shoal::testing
