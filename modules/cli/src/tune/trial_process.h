// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The process of a trial, and the file that says whether one still runs.
#include <optional>
#include <string>

#include "launch/child_group.h"
#include "shoal/base/storage.h"

namespace shoal::cli::tune {

/// A lock that all processes of a trial share, and that is gone when the last of them is: so a search that is started again knows
/// whether an old process still writes to the trial's folder. The kernel keeps it with the open file, which each process inherits.
class RunningLock {
 public:
  /// Locks the file `path`, which is made if it is missing. Nothing: somebody else holds it. Errors: it cannot be opened or locked.
  static Result<std::optional<RunningLock>> take(const std::string& path);
  /// The lock's descriptor, which a process inherits.
  int number() const { return file_.number(); }
  /// Writes who holds it, for people.
  void say(pid_t process) const;

 private:
  explicit RunningLock(launch::Descriptor file) : file_(std::move(file)) {}
  launch::Descriptor file_;
};

/// The process whose number stands in a lock's file; empty if none does.
std::string holder_of(Storage& storage, const std::string& path);

/// Opens the file that a trial writes its lines to, behind what is there.
Result<launch::Descriptor> open_log(const std::string& path);

/// Makes the symbolic link `path` lead to `target`, at once, in the place of what it has led to.
Result<void> replace_link(const std::string& target, const std::string& path);

}  // namespace shoal::cli::tune
