// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Files that belong to the process of a trial, above all the lock that says whether a process still runs.
#include <optional>
#include <string>

#include "launch/child_group.h"
#include "shoal/base/storage.h"

namespace shoal::cli::tune {

/// A lock that all processes of a trial inherit with the open file. The kernel releases the lock when the last of these
/// processes ends, so a search that is started again knows whether an old process still writes to the trial's folder.
class RunningLock {
 public:
  /// Locks the file `path`, and creates it if it is missing. Nothing if another process holds the lock; an error if the
  /// file cannot be opened or locked.
  static Result<std::optional<RunningLock>> take(const std::string& path);
  /// The descriptor that a trial's process inherits.
  int number() const { return file_.number(); }
  /// Writes `process`, the number of the process that holds the lock, into the file, for people who look there.
  void say(pid_t process) const;

 private:
  explicit RunningLock(launch::Descriptor file) : file_(std::move(file)) {}
  launch::Descriptor file_;
};

/// Returns the process number in a lock's file; empty if there is none.
std::string holder_of(Storage& storage, const std::string& path);

/// Opens the log of a trial for appending.
Result<launch::Descriptor> open_log(const std::string& path);

/// Makes `path` a symbolic link to `target`, and replaces an existing link atomically.
Result<void> replace_link(const std::string& target, const std::string& path);

}  // namespace shoal::cli::tune
