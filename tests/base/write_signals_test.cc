// SPDX-License-Identifier: Apache-2.0
// Writes that fail give an error, and end no process.
#include "shoal/base/write_signals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "death_tests.h"
#include "shoal/base/log.h"
#include "shoal/base/storage.h"

namespace shoal {
namespace {

/// Writes to a pipe that nobody reads, and gives the error.
int write_to_nobody() {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  ::close(ends[0]);
  const int error = ::write(ends[1], "x", 1) < 0 ? errno : 0;
  ::close(ends[1]);
  return error;
}

TEST(WriteSignals, AReaderThatIsGoneIsAnError) {
  {
    const WriteSignalsAsErrors errors;
    EXPECT_EQ(write_to_nobody(), EPIPE);
  }
  EXPECT_EQ(::signal(SIGPIPE, SIG_DFL), SIG_DFL);
  EXPECT_EQ(::signal(SIGXFSZ, SIG_DFL), SIG_DFL);
}

TEST(WriteSignals, WhatWasIgnoredStaysSo) {
  ::signal(SIGPIPE, SIG_IGN);
  { const WriteSignalsAsErrors errors; }
  EXPECT_EQ(::signal(SIGPIPE, SIG_DFL), SIG_IGN);
}

TEST(WriteSignals, AFilterKeepsItsSigpipe) {
  const WriteSignalsAsErrors errors({.pipe = false});
  EXPECT_EQ(::signal(SIGPIPE, SIG_DFL), SIG_DFL);
}

TEST(WriteSignals, AProgramThatIsStartedMeetsThemAsEver) {
  const WriteSignalsAsErrors errors;
  // A shell whose SIGPIPE were ignored would print the 141 of no child.
  EXPECT_EQ(WEXITSTATUS(std::system("bash -c 'yes | true; exit ${PIPESTATUS[0]}'")), 128 + SIGPIPE);
}

TEST(WriteSignalsDeathTest, AFileBeyondItsLimitIsAnErrorThatNamesIt) {
  GTEST_FLAG_SET(death_test_style, death_test_style());
  EXPECT_EXIT(
      {
        const WriteSignalsAsErrors errors;
        rlimit limit{};
        limit.rlim_cur = limit.rlim_max = 4096;
        ::setrlimit(RLIMIT_FSIZE, &limit);
        const auto storage = make_file_storage();
        const std::string path = ::testing::TempDir() + "beyond-" + std::to_string(::getpid());
        const Result<void> written = storage->write_atomically(path, std::string(10000, 'x'));
        const bool left = storage->exists(path);
        if (!written && !left) std::fprintf(stderr, "%s\n", written.error().message().c_str());
        ::_exit(!written && written.error().kind() == ErrorKind::kUnavailable ? 7 : 1);
      },
      testing::ExitedWithCode(7), "beyond-.*File too large; raise the limit of file sizes");
}

TEST(WriteSignalsDeathTest, LogLinesThatCannotBeWrittenAreCounted) {
  GTEST_FLAG_SET(death_test_style, death_test_style());
  EXPECT_EXIT(
      {
        const WriteSignalsAsErrors errors;
        const int kept = ::dup(STDERR_FILENO);
        int ends[2];
        if (::pipe(ends) != 0) ::_exit(1);
        ::close(ends[0]);
        ::dup2(ends[1], STDERR_FILENO);
        const LogSink sink = stderr_sink();
        const auto log = [&](const char* text) { sink({LogLevel::kInfo, WallTime{}, "", text}); };
        log("lost");
        log("lost, too");
        ::dup2(kept, STDERR_FILENO);
        log("seen");
        log("seen, too");
        ::_exit(7);
      },
      testing::ExitedWithCode(7), "^\\(2 lines of the log could not be written here\\)\n.* seen\n.* seen, too\n$");
}

}  // namespace
}  // namespace shoal
