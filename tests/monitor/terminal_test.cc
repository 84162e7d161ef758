// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>

#include "shoal/base/check.h"

namespace shoal::monitor {
namespace {

/// Standard error is another file meanwhile, and TERM another kind of terminal.
class Redirected {
 public:
  Redirected(int to, const char* kind) : before_(::dup(STDERR_FILENO)) {
    if (const char* was = std::getenv("TERM")) kind_before_ = was;
    ::setenv("TERM", kind, 1);
    SHOAL_CHECK(::dup2(to, STDERR_FILENO) >= 0);
  }
  ~Redirected() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    kind_before_ ? ::setenv("TERM", kind_before_->c_str(), 1) : ::unsetenv("TERM");
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int before_;
  std::optional<std::string> kind_before_;
};

/// A terminal without a screen.
class TerminalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_GE(master_, 0);
    ASSERT_EQ(::grantpt(master_), 0);
    ASSERT_EQ(::unlockpt(master_), 0);
    terminal_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    ASSERT_GE(terminal_, 0);
  }
  void TearDown() override {
    ::close(terminal_);
    ::close(master_);
  }
  Terminal read(const char* kind) {
    const Redirected redirected(terminal_, kind);
    return read_terminal();
  }
  int master_ = -1, terminal_ = -1;
};

TEST_F(TerminalTest, RenewsLinesUnlessItIsDumb) {
  EXPECT_TRUE(read("xterm").renews_lines);
  EXPECT_FALSE(read("dumb").renews_lines);
}

TEST_F(TerminalTest, IsAsWideAsItSays) {
  EXPECT_EQ(read("xterm").columns, 80);  // The terminal does not say.
  const winsize size{.ws_row = 25, .ws_col = 132, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::ioctl(terminal_, TIOCSWINSZ, &size), 0);
  EXPECT_EQ(read("xterm").columns, 132);
}

TEST_F(TerminalTest, APipeRenewsNothing) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  Terminal found;
  {
    const Redirected redirected(ends[1], "xterm");
    found = read_terminal();
    write_to_stderr("text");
  }
  std::array<char, 8> text{};
  EXPECT_EQ(::read(ends[0], text.data(), text.size()), 4);
  EXPECT_STREQ(text.data(), "text");
  for (const int end : ends) ::close(end);
  EXPECT_FALSE(found.renews_lines);
  EXPECT_EQ(found.columns, 80);
}

}  // namespace
}  // namespace shoal::monitor
