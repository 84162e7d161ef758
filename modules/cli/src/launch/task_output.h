// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What tasks write: line by line with the task's name before it, and as it is in a file of its own.
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/line_splitter.h"
#include "shoal/base/storage.h"

namespace shoal::cli::launch {

/// The log file of one task, which all its processes write to. What cannot be written is lost, and said once.
class TaskLog {
 public:
  /// Appends to `path`. The errors of Storage::append().
  static Result<TaskLog> open(Storage& storage, const std::string& path);
  void append(std::string_view bytes);
  void flush();
  /// What went wrong, the first time it is asked after it did.
  std::optional<Error> take_error();

 private:
  void note(const Result<void>& outcome);
  std::unique_ptr<WritableFile> file_;
  std::optional<Error> error_{};
  bool broken_ = false;
};

/// One of the two streams of one process.
class TaskStream {
 public:
  /// Hears of each line. Whether it is to be shown.
  using Listener = std::function<bool(std::string_view line)>;
  /// Lines go to `to` with "[`name`] " before them, those that `listener` lets through, if there is one; bytes to `log`,
  /// unless that is null.
  TaskStream(std::string name, std::ostream& to, TaskLog* log, Listener listener = {})
      : prefix_("[" + std::move(name) + "] "), to_(to), log_(log), listener_(std::move(listener)) {}
  void take(std::string_view bytes);
  void finish();

 private:
  void print(const std::vector<std::string>& lines);
  std::string prefix_;
  std::ostream& to_;
  TaskLog* log_;
  Listener listener_;
  LineSplitter splitter_;
};

/// Hands what is there at `descriptor`, which does not block, to `take`; at most some `bytes_max`. False: it has ended.
bool read_what_is_there(int descriptor, const std::function<void(std::string_view)>& take, size_t bytes_max);

}  // namespace shoal::cli::launch
