// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace shoal::monitor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

SteadyTime at(double seconds) { return SteadyTime(seconds_to_duration(seconds)); }

/// What a terminal of one line shows of `output`: the text after the last clearing, per line.
std::vector<std::string> screen_of(const std::string& output) {
  std::vector<std::string> lines{""};
  for (size_t i = 0; i < output.size(); ++i) {
    if (output.compare(i, 5, "\r\x1b[2K") == 0) {
      lines.back().clear();
      i += 4;
    } else if (output[i] == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += output[i];
    }
  }
  return lines;
}

class Progress : public ::testing::Test {
 protected:
  ProgressDisplay::Write write() {
    return [this](std::string_view text) { output += text; };
  }
  std::string output;
};

TEST_F(Progress, RenewsOneLineOnATerminal) {
  ProgressDisplay display({.mode = ProgressMode::kLine}, write());
  for (int step = 0; step <= 100; ++step) {
    display.update(at(step * 0.05), {.global_step = step, .max_steps = 200, .examples = step * 32, .loss = 0.03125});
  }
  ASSERT_EQ(screen_of(output).size(), 1u);
  EXPECT_EQ(screen_of(output)[0], "step 100/200  loss 0.03125  20.0 steps/s  640 examples/s  5 s left");
  display.finish();
  EXPECT_EQ(screen_of(output).back(), "");
  EXPECT_EQ(screen_of(output).size(), 2u);
}

TEST_F(Progress, DoesNotRenewMoreOftenThanAsked) {
  ProgressDisplay display({.mode = ProgressMode::kLine, .line_interval = std::chrono::seconds(1)}, write());
  display.update(at(0), {.global_step = 0});
  const size_t size = output.size();
  EXPECT_GT(size, 0u);
  display.update(at(0.99), {.global_step = 1});
  EXPECT_EQ(output.size(), size);
  display.update(at(1), {.global_step = 2});
  EXPECT_GT(output.size(), size);
}

TEST_F(Progress, WritesPlainLinesAtIntervalsIntoALog) {
  ProgressDisplay display({.mode = ProgressMode::kPlain}, write());
  for (int second = 0; second <= 25; ++second) display.update(at(second), {.global_step = 10 * second});
  display.update_now(at(26), {.global_step = 260, .note = "evaluating"});
  EXPECT_EQ(output,
            "step 100  10.0 steps/s\n"
            "step 200  10.0 steps/s\n"
            "step 260  10.0 steps/s  evaluating\n");
}

TEST_F(Progress, IsSilentWhenOff) {
  {
    ProgressDisplay display({.mode = ProgressMode::kOff}, write());
    for (int second = 0; second < 100; ++second) display.update(at(second), {.global_step = second});
    display.update_now(at(100), {.global_step = 100});
  }
  EXPECT_THAT(output, IsEmpty());
  EXPECT_EQ(choose_progress_mode({.json = true}), ProgressMode::kOff);
  EXPECT_EQ(choose_progress_mode({.quiet = true, .renews_lines = true}), ProgressMode::kOff);
}

TEST(ProgressModes, DependOnWhatStandardErrorIs) {
  EXPECT_EQ(choose_progress_mode({.renews_lines = true}), ProgressMode::kLine);
  EXPECT_EQ(choose_progress_mode({.renews_lines = false}), ProgressMode::kPlain);
}

TEST_F(Progress, ClearsItsLineAroundLogLines) {
  ProgressDisplay display({.mode = ProgressMode::kLine}, write());
  const LogSink sink = display.wrap([this](const LogRecord& record) { output += std::string(record.message) + "\n"; });
  sink({LogLevel::kInfo, {}, "", "before"});
  display.update(at(0), {.global_step = 1});
  sink({LogLevel::kWarning, {}, "", "saved a checkpoint"});
  EXPECT_THAT(screen_of(output), ::testing::ElementsAre("before", "saved a checkpoint", "step 1"));
  display.finish();
  sink({LogLevel::kInfo, {}, "", "after"});
  EXPECT_THAT(screen_of(output), ::testing::ElementsAre("before", "saved a checkpoint", "step 1", "after", ""));
}

TEST_F(Progress, TheSinkOutlivesTheDisplay) {
  LogSink sink;
  {
    ProgressDisplay display({.mode = ProgressMode::kLine}, write());
    sink = display.wrap([this](const LogRecord& record) { output += std::string(record.message) + "\n"; });
    display.update(at(0), {.global_step = 1});
  }
  sink({LogLevel::kInfo, {}, "", "late"});
  EXPECT_THAT(screen_of(output), ::testing::ElementsAre("step 1", "late", ""));
}

TEST_F(Progress, RatesStartAnewAfterARollback) {
  ProgressDisplay display({.mode = ProgressMode::kPlain}, write());
  display.update_now(at(0), {.global_step = 1000});
  display.update_now(at(1), {.global_step = 1100});
  display.update_now(at(2), {.global_step = 500});
  display.update_now(at(3), {.global_step = 510});
  EXPECT_EQ(output,
            "step 1,000\n"
            "step 1,100  100 steps/s\n"
            "step 500\n"
            "step 510  10.0 steps/s\n");
}

TEST_F(Progress, RatesForgetWhatIsLongAgo) {
  ProgressDisplay display({.mode = ProgressMode::kPlain, .rate_window = std::chrono::seconds(10)}, write());
  for (int second = 0; second <= 100; ++second) display.update_now(at(second), {.global_step = second});
  output.clear();
  int64_t step = 100;
  for (int second = 101; second <= 115; ++second) display.update_now(at(second), {.global_step = step += 50});
  EXPECT_THAT(output.substr(output.rfind("step ")), HasSubstr("  50.0 steps/s"));
}

TEST_F(Progress, ALineNeverWraps) {
  ProgressDisplay display({.mode = ProgressMode::kLine, .columns = 30}, write());
  display.update(at(0), {.global_step = 123456789, .loss = 1, .note = "waiting for ps 1 since 30 s"});
  EXPECT_EQ(screen_of(output)[0].size(), 29u);
  EXPECT_THAT(screen_of(output)[0], StartsWith("step 123,456,789"));
}

TEST_F(Progress, StuckTrainingPromisesNothing) {
  ProgressDisplay display({.mode = ProgressMode::kPlain}, write());
  display.update_now(at(0), {.global_step = 5, .max_steps = 100});
  display.update_now(at(10), {.global_step = 5, .max_steps = 100});
  EXPECT_THAT(output, Not(HasSubstr("left")));
  EXPECT_THAT(output, HasSubstr("0.00 steps/s"));
}

TEST(Format, Durations) {
  EXPECT_EQ(format_duration(std::chrono::milliseconds(3999)), "3 s");
  EXPECT_EQ(format_duration(std::chrono::seconds(125)), "2 min 5 s");
  EXPECT_EQ(format_duration(std::chrono::minutes(80)), "1 h 20 min");
  EXPECT_EQ(format_duration(-std::chrono::seconds(5)), "0 s");
}

TEST(Format, Rates) {
  EXPECT_EQ(format_rate(12345.6), "12,346");
  EXPECT_EQ(format_rate(1234567), "1,234,567");
  EXPECT_EQ(format_rate(999.4), "999");
  EXPECT_EQ(format_rate(99.96), "100");
  EXPECT_EQ(format_rate(85.12), "85.1");
  EXPECT_EQ(format_rate(9.996), "10.0");
  EXPECT_EQ(format_rate(0.314), "0.31");
  EXPECT_EQ(format_rate(0.00314), "0.0031");
  EXPECT_EQ(format_rate(0), "0.00");
  EXPECT_EQ(format_rate(NAN), "?");
}

TEST(Format, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes((size_t(1) << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16384.0 PiB");
}

}  // namespace
}  // namespace shoal::monitor
