// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/prompt_write.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstring>

namespace shoal {
namespace {

// A terminal says that it accepts bytes as soon as it has room for one, though a line's end may need two. So a write to a
// terminal that just said so may be refused, and is tried again after this time.
constexpr long kPauseNanoseconds = 5'000'000;
constexpr size_t kTerminalBytes = 256;  // Written at a time to a terminal on which a write may block.

int64_t steady_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

/// Opens the pipe or terminal behind `descriptor` a second time, such that a write does not block. Returns -1 on failure.
int open_again(int descriptor) {
  constexpr std::string_view kFolder = "/proc/self/fd/";
  std::array<char, 32> path{};
  std::memcpy(path.data(), kFolder.data(), kFolder.size());
  std::to_chars(path.data() + kFolder.size(), path.data() + path.size() - 1, descriptor);
  return ::open(path.data(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/// A descriptor, and the way to write to it without waiting.
class Stream {
 public:
  explicit Stream(int descriptor) : descriptor_(descriptor) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) return;
    is_socket_ = S_ISSOCK(status.st_mode);
    const bool is_pipe = S_ISFIFO(status.st_mode);
    // A second description of a regular file would have a position of its own, and a write to a file waits for no reader.
    if (!is_pipe && !(S_ISCHR(status.st_mode) && ::isatty(descriptor) == 1)) return;
    again_ = open_again(descriptor);
    if (again_ < 0) bytes_at_once_ = is_pipe ? PIPE_BUF : kTerminalBytes;
  }
  ~Stream() {
    if (again_ >= 0) ::close(again_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Waits until a write would not be refused; at most `wait_ms`. Returns false if that time has passed.
  bool accepts(int64_t wait_ms) const {
    pollfd asked{.fd = number(), .events = POLLOUT, .revents = 0};
    // An error shows when writing. poll() disregards negative descriptors.
    return number() < 0 || ::poll(&asked, 1, int(std::clamp<int64_t>(wait_ms, 0, INT_MAX))) != 0;
  }
  ssize_t write(std::string_view text) const {
    if (is_socket_) return ::send(descriptor_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return ::write(number(), text.data(), std::min(text.size(), bytes_at_once_));
  }

 private:
  int number() const { return again_ >= 0 ? again_ : descriptor_; }
  const int descriptor_;
  int again_ = -1;
  bool is_socket_ = false;
  size_t bytes_at_once_ = SSIZE_MAX;
};

PromptWrite write_within(int descriptor, std::string_view text, int64_t patience_ms) {
  const Stream to(descriptor);
  const int64_t until = steady_ms() + patience_ms;
  PromptWrite done;
  while (done.bytes < text.size()) {
    errno = 0;
    const bool accepts = to.accepts(until - steady_ms());
    const ssize_t count = accepts && errno != EINTR ? to.write(text.substr(done.bytes)) : -1;
    if (count > 0) {
      done.bytes += size_t(count);
      continue;
    }
    const int error = accepts ? errno : EAGAIN;
    if (error != EINTR && error != EAGAIN && error != EWOULDBLOCK) {
      done.error = error == 0 ? EIO : error;
      return done;
    }
    if (steady_ms() >= until && error != EINTR) {
      done.error = EAGAIN;
      return done;
    }
    const timespec pause{0, error == EINTR ? 0 : kPauseNanoseconds};
    ::nanosleep(&pause, nullptr);
  }
  return done;
}

}  // namespace

PromptWrite write_promptly(int descriptor, std::string_view text, std::chrono::milliseconds patience) {
  const int saved_errno = errno;
  const PromptWrite done = write_within(descriptor, text, patience.count());
  errno = saved_errno;
  return done;
}

}  // namespace shoal
