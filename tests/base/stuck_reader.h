// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A pipe or a terminal whose reader has stopped reading, and reads on when a test says so.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>

#include "shoal/base/check.h"

namespace shoal {

class StuckReader {
 public:
  enum class Kind { kPipe, kTerminal, kSocket };

  explicit StuckReader(Kind kind = Kind::kPipe) {
    int ends[2] = {-1, -1};
    switch (kind) {
      case Kind::kPipe: SHOAL_CHECK(::pipe2(ends, O_CLOEXEC) == 0); break;
      case Kind::kSocket: SHOAL_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0); break;
      case Kind::kTerminal:
        ends[0] = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        SHOAL_CHECK(::grantpt(ends[0]) == 0 && ::unlockpt(ends[0]) == 0);
        ends[1] = ::open(::ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
        SHOAL_CHECK(ends[1] >= 0);
        break;
    }
    reader_ = ends[0];
    writer_ = ends[1];
  }
  ~StuckReader() {
    ::close(reader_);
    if (writer_ >= 0) ::close(writer_);
  }
  StuckReader(const StuckReader&) = delete;
  StuckReader& operator=(const StuckReader&) = delete;

  int writer() const { return writer_; }
  void close_writer() { ::close(std::exchange(writer_, -1)); }

  /// Reads what is there. Waits only if that has fewer than `least` bytes, 10 s at most. Leaves out the carriage returns that
  /// a terminal adds.
  std::string read(size_t least = 0) {
    ::fcntl(reader_, F_SETFL, O_NONBLOCK);
    std::string text;
    std::array<char, 4096> bytes;
    for (;;) {
      const ssize_t count = ::read(reader_, bytes.data(), bytes.size());
      if (count > 0) {
        std::copy_if(bytes.begin(), bytes.begin() + count, std::back_inserter(text), [](char c) { return c != '\r'; });
      } else {
        pollfd asked{.fd = reader_, .events = POLLIN, .revents = 0};
        if (text.size() >= least || ::poll(&asked, 1, 10'000) <= 0) return text;
      }
    }
  }

 private:
  int reader_ = -1, writer_ = -1;
};

}  // namespace shoal
