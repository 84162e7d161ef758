// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "stuck_reader.h"

namespace shoal {
namespace {

struct Lines {
  std::vector<std::string> texts;
  LogSink sink() {
    return [this](const LogRecord& record) {
      texts.push_back(std::string(to_string(record.level)) + "|" + std::string(record.task) + "|" +
                      std::string(record.message));
    };
  }
};

WallTime half_past() { return WallTime(std::chrono::seconds(1'700'000'000) + std::chrono::milliseconds(42)); }

TEST(Logger, AddsTaskAndTime) {
  WallTime seen;
  Logger logger([&](const LogRecord& record) { seen = record.time; }, "worker 1", half_past);
  logger.info("hello");
  EXPECT_EQ(seen, half_past());
  Lines lines;
  Logger other(lines.sink(), "worker 1", half_past);
  other.debug("a");
  other.info("b");
  other.warning("c");
  other.error("d");
  EXPECT_EQ(lines.texts,
            (std::vector<std::string>{"debug|worker 1|a", "info|worker 1|b", "warning|worker 1|c", "error|worker 1|d"}));
  EXPECT_EQ(other.task(), "worker 1");
}

TEST(Logger, WarnsOnceForEachCause) {
  Lines lines;
  Logger logger(lines.sink(), "", half_past);
  logger.warning_once("numerics", "first");
  logger.warning_once("numerics", "second");
  logger.warning_once("disk", "third");
  EXPECT_EQ(lines.texts, (std::vector<std::string>{"warning||first", "warning||third"}));
}

TEST(Logger, CallsItsSinkOneLineAtATime) {
  int inside = 0, worst = 0, count = 0;  // No lock guards these: the logger promises one line at a time.
  Logger logger(
      [&](const LogRecord&) {
        worst = std::max(worst, ++inside);
        ++count;
        --inside;
      },
      "", half_past);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) logger.info("x");
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(worst, 1);
  EXPECT_EQ(count, 2000);
}

TEST(Logger, GoesOnBehindASinkThatThrows) {
  Lines lines;
  int to_fail = 2;
  Logger logger(
      [&, sink = lines.sink()](const LogRecord& record) {
        if (to_fail-- > 0) throw std::runtime_error("the queue is closed");
        sink(record);
      },
      "worker 1", half_past);
  for (const char* line : {"first", "second", "third", "fourth"}) logger.info(line);
  EXPECT_EQ(lines.texts, (std::vector<std::string>{"warning|worker 1|2 lines of the log did not reach this sink: the log "
                                                   "sink threw an exception: the queue is closed",
                                                   "info|worker 1|third", "info|worker 1|fourth"}));
}

TEST(Logger, DropsLinesThatItsSinkCauses) {
  Lines lines;
  Logger* self = nullptr;
  Logger logger(
      [&, sink = lines.sink()](const LogRecord& record) {
        sink(record);
        self->warning("from within");
      },
      "", half_past);
  self = &logger;
  logger.info("one");
  logger.info("two");
  EXPECT_EQ(lines.texts, (std::vector<std::string>{"info||one", "info||two"}));
}

TEST(Logger, CopiesOfAGuardedSinkAreOneDoor) {
  int inside = 0, worst = 0, count = 0;  // No lock guards these.
  const LogSink guarded = guarded_sink([&](const LogRecord&) {
    worst = std::max(worst, ++inside);
    ++count;
    --inside;
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([guarded] {
      Logger own(guarded, "", half_past);
      for (int i = 0; i < 500; ++i) own.info("x");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(worst, 1);
  EXPECT_EQ(count, 2000);
  EXPECT_FALSE(guarded_sink({}));
}

TEST(StderrSink, WritesTimeLevelAndTask) {
  const LogSink sink = stderr_sink(LogLevel::kInfo);
  testing::internal::CaptureStderr();
  sink({LogLevel::kDebug, half_past(), "", "not shown"});
  sink({LogLevel::kWarning, half_past(), "worker 1", "disk is slow"});
  sink({LogLevel::kError, half_past(), "", "local"});
  const std::string text = testing::internal::GetCapturedStderr();
  // A line begins with the clearing of a progress line, if the tests' standard error is a terminal.
  constexpr char kLine[] = "(\r\x1b\\[K)?[0-2][0-9]:[0-5][0-9]:20\\.042 ";
  EXPECT_THAT(text, testing::MatchesRegex(std::string(kLine) + "W worker 1: disk is slow\n" + kLine + "E local\n"));
}

// Training must go on: whoever reads standard error has stopped reading, and has not closed it.
TEST(StderrSink, LosesLinesThatNobodyReadsAndSaysHowMany) {
  StuckReader reader;
  const int before = ::dup(STDERR_FILENO);
  ASSERT_EQ(::dup2(reader.writer(), STDERR_FILENO), STDERR_FILENO);
  const LogSink sink = stderr_sink();
  const LogSink copy = sink;  // As of two loggers of one program: both together wait once.
  const std::string text(3000, 'x');
  const auto begun = std::chrono::steady_clock::now();
  constexpr int kLines = 1000;  // Far more than a pipe holds.
  for (int i = 0; i < kLines; ++i) (i % 2 == 0 ? sink : copy)({LogLevel::kInfo, half_past(), "", text});
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
  const std::string first = reader.read();
  sink({LogLevel::kInfo, half_past(), "", "the reader goes on"});
  const std::string rest = reader.read();
  ASSERT_EQ(::dup2(before, STDERR_FILENO), STDERR_FILENO);
  ::close(before);
  const auto shown = std::count(first.begin(), first.end(), '\n');
  EXPECT_EQ(size_t(shown) * (first.size() / size_t(shown)), first.size());  // Whole lines.
  EXPECT_THAT(rest, testing::MatchesRegex("\\(" + std::to_string(kLines - shown) +
                                          " lines of the log could not be written here\\)\n.* I the reader goes on\n"));
}

}  // namespace
}  // namespace shoal
