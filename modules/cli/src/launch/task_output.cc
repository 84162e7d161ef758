// SPDX-License-Identifier: Apache-2.0
#include "launch/task_output.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <utility>

namespace shoal::cli::launch {

Result<TaskLog> TaskLog::open(Storage& storage, const std::string& path) {
  TaskLog log;
  SHOAL_TRY(log.file_, storage.append(path));
  return log;
}

void TaskLog::append(std::string_view bytes) { note(file_->append(std::as_bytes(std::span(bytes.data(), bytes.size())))); }

void TaskLog::flush() { note(file_->flush()); }

void TaskLog::note(const Result<void>& outcome) {
  if (outcome || std::exchange(broken_, true)) return;
  error_ = outcome.error();
}

std::optional<Error> TaskLog::take_error() { return std::exchange(error_, std::nullopt); }

void TaskStream::take(std::string_view bytes) {
  if (log_) log_->append(bytes);
  print(splitter_.take(bytes));
}

void TaskStream::finish() { print(splitter_.finish()); }

void TaskStream::print(const std::vector<std::string>& lines) {
  // All text goes out in one write, because another stream of this launcher may go to the same terminal.
  std::string text;
  for (const std::string& line : lines) {
    if (!listener_ || listener_(line)) text += prefix_ + line + "\n";
  }
  to_ << text;
}

bool read_what_is_there(int descriptor, const std::function<void(std::string_view)>& take, size_t bytes_max) {
  std::array<char, size_t(64) * 1024> bytes;
  for (size_t taken = 0; taken < bytes_max;) {
    const ssize_t count = ::read(descriptor, bytes.data(), bytes.size());
    if (count > 0) {
      take({bytes.data(), size_t(count)});
      taken += size_t(count);
    } else if (count == 0 || errno != EINTR) {
      const bool more_may_come = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
      return more_may_come;
    }
  }
  return true;
}

}  // namespace shoal::cli::launch
