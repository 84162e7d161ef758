// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The output of tasks: shown line by line with the task's name in front, and stored unchanged in a file for each task.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/line_splitter.h"
#include "shoal/base/storage.h"
#include "shoal/cli/text_output.h"

namespace shoal::cli::launch {

/// The log file of one task, which all its processes write to. Text that cannot be written is lost, and the first error is
/// reported once.
class TaskLog {
 public:
  /// Opens `path` for appending. Errors: those of Storage::append().
  static Result<TaskLog> open(Storage& storage, const std::string& path);
  void append(std::string_view bytes);
  void flush();
  /// Returns the first error of the log; a second call returns nothing.
  std::optional<Error> take_error();

 private:
  void note(const Result<void>& outcome);
  std::unique_ptr<WritableFile> file_;
  std::optional<Error> error_{};
  bool broken_ = false;
};

/// One of the two output streams of one process.
class TaskStream {
 public:
  /// Receives each line, and returns whether it is to be shown.
  using Listener = std::function<bool(std::string_view line)>;
  /// Lines go to `to` with "[`name`] " in front; if there is a `listener`, only lines for which it returns true. All bytes
  /// go to `log`, unless it is null.
  TaskStream(std::string name, TextOutput& to, TaskLog* log, Listener listener = {})
      : prefix_("[" + std::move(name) + "] "), to_(to), log_(log), listener_(std::move(listener)) {}
  void take(std::string_view bytes);
  void finish();

 private:
  void print(const std::vector<std::string>& lines);
  std::string prefix_;
  TextOutput& to_;
  TaskLog* log_;
  Listener listener_;
  LineSplitter splitter_;
};

/// Reads the bytes that can be read from `descriptor` now, at most about `bytes_max`, and passes them to `take`. The
/// descriptor must be non-blocking. Returns false if the stream has ended.
bool read_what_is_there(int descriptor, const std::function<void(std::string_view)>& take, size_t bytes_max);

}  // namespace shoal::cli::launch
