// SPDX-License-Identifier: Apache-2.0
#include "owned_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "shoal/base/exhaustion.h"
#include "shoal/base/path_error.h"

namespace shoal::transport {
namespace {

/// A descriptor that is closed at the end of its scope.
struct Descriptor {
  explicit Descriptor(const char* path) : id(::open(path, O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (id >= 0) ::close(id);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int id;
};

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
  while (contents.size < contents.text.size()) {
    const ssize_t got = ::read(descriptor.id, contents.text.data() + contents.size, contents.text.size() - contents.size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("cannot be read");
    if (got == 0) break;
    contents.size += size_t(got);
  }
  if (contents.size > file.bytes_max) return invalid_argument(name + ": is larger than such a file can be");
  return Secret(contents.text.substr(0, contents.size));
}

}  // namespace shoal::transport
