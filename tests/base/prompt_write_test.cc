// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/prompt_write.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "shoal/base/write_signals.h"
#include "stuck_reader.h"
#include "temporary_folder.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

const std::string kOneLine = std::string(98, 'x') + "\n";

class PromptWriteTo : public testing::TestWithParam<StuckReader::Kind> {};

// A write() would wait for ever here, and with it the test.
TEST_P(PromptWriteTo, DoesNotWaitForAReaderThatHasStopped) {
  StuckReader reader(GetParam());
  const int flags = ::fcntl(reader.writer(), F_GETFL);
  std::string written;
  PromptWrite last;
  while (last.error == 0) {  // With patience, since a terminal passes on a little later what it was given.
    last = write_promptly(reader.writer(), kOneLine, 200ms);
    written += kOneLine.substr(0, last.bytes);
    ASSERT_LT(written.size(), size_t(100) << 20);
  }
  EXPECT_EQ(last.error, EAGAIN);
  EXPECT_EQ(write_promptly(reader.writer(), kOneLine).error, EAGAIN);
  EXPECT_EQ(::fcntl(reader.writer(), F_GETFL), flags);  // Other processes may share the descriptor.
  EXPECT_TRUE(reader.read(written.size()) == written);
  EXPECT_EQ(write_promptly(reader.writer(), kOneLine).bytes, kOneLine.size());  // The reader has gone on.
}

TEST_P(PromptWriteTo, WaitsForAReaderThatIsSlow) {
  StuckReader reader(GetParam());
  while (write_promptly(reader.writer(), kOneLine).error == 0) {
  }
  PromptWrite late;
  std::thread writer([&] { late = write_promptly(reader.writer(), kOneLine, 60s); });
  reader.read();
  writer.join();
  EXPECT_EQ(late.error, 0);
  EXPECT_EQ(late.bytes, kOneLine.size());
}

INSTANTIATE_TEST_SUITE_P(Kinds, PromptWriteTo,
                         testing::Values(StuckReader::Kind::kPipe, StuckReader::Kind::kTerminal,
                                         StuckReader::Kind::kSocket));

TEST(PromptWrite, WritesALongTextInParts) {
  StuckReader reader;
  const std::string text(1 << 20, 'y');
  const PromptWrite part = write_promptly(reader.writer(), text);
  EXPECT_EQ(part.error, EAGAIN);
  EXPECT_GT(part.bytes, 0u);
  EXPECT_EQ(reader.read(), text.substr(0, part.bytes));
}

TEST(PromptWrite, GoesOnWhereAFileIs) {
  const TemporaryFolder folder;
  const int file = ::open((folder / "log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::write(file, "first\n", 6), 6);
  EXPECT_EQ(write_promptly(file, "second\n").bytes, 7u);
  ::close(file);
  std::ostringstream text;
  text << std::ifstream(folder / "log").rdbuf();
  EXPECT_EQ(text.str(), "first\nsecond\n");
}

TEST(PromptWrite, TellsWhyAWriteFailed) {
  const WriteSignalsAsErrors errors;
  errno = ENOENT;
  EXPECT_EQ(write_promptly(-1, "text").error, EBADF);
  EXPECT_EQ(errno, ENOENT);  // Signal handlers call this function.
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  EXPECT_EQ(write_promptly(ends[1], "text").error, EPIPE);
  ::close(ends[1]);
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(write_promptly(full, "text").error, ENOSPC);
  ::close(full);
}

}  // namespace
}  // namespace shoal
