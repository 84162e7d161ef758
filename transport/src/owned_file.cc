// SPDX-License-Identifier: Apache-2.0
#include "owned_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "shoal/base/exhaustion.h"
#include "shoal/base/path_error.h"

namespace shoal::transport {
namespace {

/// A descriptor that is closed at the end of its scope.
struct Descriptor {
  // Without O_NONBLOCK, open() would wait for ever for a process that writes to a named pipe.
  explicit Descriptor(const char* path) : id(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  ~Descriptor() {
    if (id >= 0) ::close(id);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int id;
};

/// Waits until the next read() from `descriptor` does not block. Returns false if nothing has come until the time `until`.
bool wait_for_bytes(int descriptor, std::chrono::steady_clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd asked{.fd = descriptor, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&asked, 1, int(std::max<int64_t>(left.count(), 0)));
    if (ready == 0) return false;
    if (ready > 0 || errno != EINTR) return true;
  }
}

/// A text that is wiped at the end of its scope.
struct Contents {
  explicit Contents(size_t bytes) : text(bytes, '\0') {}
  ~Contents() { explicit_bzero(text.data(), text.size()); }
  std::string text;
  size_t size = 0;
};

Result<void> check_access(const OwnedFile& file, mode_t mode) {
  if (file.others == Others::kNothing && (mode & (S_IRWXG | S_IRWXO)) != 0)
    return failed_precondition(file.what + " " + file.path +
                               ": users other than its owner have access to it, and so to the job; chmod 600 " + file.path +
                               ", and " + file.remedy);
  if ((mode & (S_IWGRP | S_IWOTH)) != 0)
    return failed_precondition(file.what + " " + file.path +
                               ": users other than its owner may change it, and so decide who joins the job; chmod go-w " +
                               file.path);
  return {};
}

}  // namespace

Result<Secret> read_owned_file(const OwnedFile& file) {
  const std::string name = file.what + " " + file.path;
  const auto failed = [&](const char* what) {
    const int code = errno;
    std::string sentence = name + ": " + what + ": " + system_error_text(code);
    return code == ENOENT ? not_found(std::move(sentence)) : unavailable(std::move(sentence));
  };
  if (Result<void> path = check_path(file.path); !path) return std::move(path).error().with_context(file.what);
  const Descriptor descriptor(file.path.c_str());
  if (descriptor.id < 0) return failed("cannot be opened");
  struct stat status {};
  if (::fstat(descriptor.id, &status) != 0) return failed("cannot be examined");
  if (S_ISDIR(status.st_mode)) return invalid_argument(name + ": is a folder");
  SHOAL_TRY_VOID(check_access(file, status.st_mode));
  Contents contents(file.bytes_max + 1);
  const auto until = std::chrono::steady_clock::now() + file.pipe_patience;
  while (contents.size < contents.text.size()) {
    if (!S_ISREG(status.st_mode) && !wait_for_bytes(descriptor.id, until)) {
      const auto seconds = std::chrono::ceil<std::chrono::seconds>(file.pipe_patience).count();
      return deadline_exceeded(name + ": is no regular file, and its end has not come within " + std::to_string(seconds) +
                               " s; let a program write to it and close it while this one starts, or name a file");
    }
    const ssize_t got = ::read(descriptor.id, contents.text.data() + contents.size, contents.text.size() - contents.size);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return failed("cannot be read");
    if (got == 0) break;
    contents.size += size_t(got);
  }
  if (contents.size > file.bytes_max) return invalid_argument(name + ": is larger than such a file can be");
  return Secret(contents.text.substr(0, contents.size));
}

}  // namespace shoal::transport
