// SPDX-License-Identifier: Apache-2.0
// The launcher's own output, whose reader may have stopped reading.
#include <cstdio>
#include <memory>

#include "../base/stuck_reader.h"
#include "fixture.h"
#include "launch/prompt_stream.h"

namespace shoal::cli::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::StartsWith;

/// A stream of the launcher, at a time that the test sets.
class LaunchStream : public ::testing::Test {
 protected:
  static constexpr int kLinesAtATime = 1000;
  static constexpr int kLinesMax = 200'000;  // Far more than a stream keeps.

  /// Lines until the stream loses some; their number. Each has 100 bytes.
  int write_until_lost() {
    int count = 0;
    for (; !stream_.loses_text() && count < kLinesMax; count += kLinesAtATime) {
      for (int i = 0; i < kLinesAtATime; ++i) stream_.lines() << std::string(99, 'x') << "\n";
      stream_.send(now_);
    }
    return count;
  }
  /// What the reader gets once it reads on.
  std::string read_all() {
    std::string text;
    for (std::string more = reader_.read(); !more.empty(); more = reader_.read()) {
      text += more;
      stream_.send(now_);
    }
    return text;
  }

  StuckReader reader_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{::fdopen(::dup(reader_.writer()), "w"), &std::fclose};
  TextOutput to_{file_.get()};
  PromptStream stream_{to_, "launch"};
  SteadyTime now_{seconds(100)};
};

TEST_F(LaunchStream, KeepsTextForAReaderThatIsSlow) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "line " + std::to_string(i) + "\n";
  stream_.lines() << text;
  stream_.send(now_);
  EXPECT_TRUE(stream_.has_kept_text());
  EXPECT_NE(stream_.waits_for(), -1);
  EXPECT_EQ(read_all(), text);
  EXPECT_FALSE(stream_.has_kept_text());
  EXPECT_EQ(stream_.waits_for(), -1);
  EXPECT_TRUE(to_.ok());
}

TEST_F(LaunchStream, LosesLinesBeyondItsLimitAndSaysHowMany) {
  write_until_lost();
  ASSERT_TRUE(stream_.loses_text());
  stream_.lines() << "one more\n";
  stream_.send(now_);
  std::string text = read_all();
  stream_.lines() << "the reader goes on\n";
  stream_.send(now_);
  text += read_all();
  const std::string end = "[launch] " + std::to_string(kLinesAtATime + 1) +
                          " lines are missing here: nobody read this stream, or it could not be written\n"
                          "the reader goes on\n";
  EXPECT_THAT(text, EndsWith(end));
  EXPECT_EQ((text.size() - end.size()) % 100, 0u);  // Whole lines before.
  EXPECT_FALSE(stream_.loses_text());
}

TEST_F(LaunchStream, KeepsTheLastLinesOfTheCommand) {
  write_until_lost();
  stream_.keep_all();
  stream_.lines() << "the end\n";
  stream_.send(now_);
  EXPECT_THAT(read_all(),
              EndsWith("[launch] " + std::to_string(kLinesAtATime) +
                       " lines are missing here: nobody read this stream, or it could not be written\nthe end\n"));
}

TEST_F(LaunchStream, SaysWhatIsMissingAsSoonAsTheReaderGoesOn) {
  write_until_lost();
  EXPECT_THAT(read_all(), EndsWith("or it could not be written\n"));
  EXPECT_FALSE(stream_.loses_text());
}

// Tasks would stop if their output were not read; but a reader that is only slow should lose nothing.
TEST_F(LaunchStream, LetsTheCommandWaitForAWhile) {
  EXPECT_EQ(stream_.waits_for_reader_until(now_), std::nullopt);
  int count = 0;
  while (!stream_.waits_for_reader_until(now_) && count++ < kLinesMax) {
    stream_.lines() << std::string(99, 'x') << "\n";
    stream_.send(now_);
  }
  EXPECT_EQ(stream_.waits_for_reader_until(now_), now_ + PromptStream::kPatience);
  EXPECT_FALSE(stream_.loses_text());
  now_ += milliseconds(1500);
  ASSERT_FALSE(reader_.read().empty());
  stream_.send(now_);  // The reader has taken something.
  for (int i = 0; i < 1000; ++i) stream_.lines() << std::string(99, 'x') << "\n";
  EXPECT_EQ(stream_.waits_for_reader_until(now_), now_ + PromptStream::kPatience);
  now_ += PromptStream::kPatience;
  EXPECT_EQ(stream_.waits_for_reader_until(now_), std::nullopt);
}

TEST_F(LaunchStream, TriesAgainLaterIfNothingIsTaken) {
  write_until_lost();
  stream_.send(now_);
  EXPECT_EQ(stream_.waits_for(), -1);  // A terminal may say for ever that it accepts bytes.
  ASSERT_TRUE(stream_.next_time());
  EXPECT_GT(*stream_.next_time(), now_);
}

TEST(LaunchStreams, CountLinesOfAFailedWriteOnce) {
  std::FILE* const file = std::fopen("/dev/full", "w");
  TextOutput to(file);
  PromptStream stream(to, "launch");
  for (int i = 0; i < 3; ++i) {
    stream.lines() << "lost\n";
    stream.send(SteadyTime());
  }
  EXPECT_FALSE(to.ok());
  EXPECT_TRUE(stream.loses_text());
  StuckReader reader;
  ASSERT_EQ(::dup2(reader.writer(), ::fileno(file)), ::fileno(file));  // The disk has room again.
  stream.lines() << "kept\n";
  stream.send(SteadyTime());
  EXPECT_THAT(reader.read(), ::testing::AllOf(StartsWith("[launch] 3 lines are missing here"), EndsWith("\nkept\n")));
  std::fclose(file);
}

TEST(LaunchStreams, MayBeATextInMemory) {
  std::string text;
  TextOutput to(text);
  PromptStream stream(to, "launch");
  stream.lines() << "line\n";
  stream.send(SteadyTime());
  EXPECT_EQ(text, "line\n");
  EXPECT_FALSE(stream.has_kept_text());
}

TEST(LaunchStreams, AreOneIfTheyAreOnePipe) {
  const StuckReader first, second;
  const auto opened = [](const StuckReader& reader) { return ::fdopen(::dup(reader.writer()), "w"); };
  std::FILE* const files[] = {opened(first), opened(first), opened(second)};
  const TextOutput one(files[0]), same(files[1]), other(files[2]);
  std::string text;
  const TextOutput memory(text);
  EXPECT_TRUE(are_one_stream(one, same));
  EXPECT_FALSE(are_one_stream(one, other));
  EXPECT_FALSE(are_one_stream(one, memory));
  for (std::FILE* file : files) std::fclose(file);
}

}  // namespace
}  // namespace shoal::cli::launch
