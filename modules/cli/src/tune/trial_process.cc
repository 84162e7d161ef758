// SPDX-License-Identifier: Apache-2.0
#include "tune/trial_process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "shoal/base/exhaustion.h"
#include "shoal/base/missing_path.h"

namespace shoal::cli::tune {
namespace {

constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;

}  // namespace

Result<std::optional<RunningLock>> RunningLock::take(const std::string& path) {
  launch::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode));
  if (!file) return machine_path_error("open", path, errno);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(file.number(), F_OFD_SETLK, &whole) == 0) return std::optional(RunningLock(std::move(file)));
  if (errno == EAGAIN || errno == EACCES) return std::optional<RunningLock>();
  return unavailable(path + ": cannot be locked: " + system_error_text(errno) + "; choose a folder on another file system");
}

void RunningLock::say(pid_t process) const {
  const std::string text = std::to_string(process) + "\n";
  static_cast<void>(!::ftruncate(file_.number(), 0));
  static_cast<void>(!::pwrite(file_.number(), text.data(), text.size(), 0));
}

std::string holder_of(Storage& storage, const std::string& path) {
  std::string text = storage.read_all(path, 100).value_or("");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Result<launch::Descriptor> open_log(const std::string& path) {
  launch::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode));
  if (!file) return machine_path_error("open", path, errno);
  return file;
}

Result<void> replace_link(const std::string& target, const std::string& path) {
  const std::string temporary = path + ".tmp";
  ::unlink(temporary.c_str());
  if (::symlink(target.c_str(), temporary.c_str()) != 0) return machine_path_error("make the link", path, errno);
  if (::rename(temporary.c_str(), path.c_str()) == 0) return {};
  const int number = errno;
  ::unlink(temporary.c_str());
  return machine_path_error("make the link", path, number);
}

}  // namespace shoal::cli::tune
