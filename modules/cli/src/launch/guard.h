// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A small process that outlives a launcher which is killed, to end what that had started.
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "launch/descriptor.h"
#include "shoal/base/time.h"

namespace shoal::cli::launch {

/// A program with something to read.
struct LastCommand {
  std::string file;  ///< What find_program() gives.
  std::vector<std::string> command;
  std::vector<std::string> environment;
  std::string input;
};

/// Told which process groups there are. When its socket closes without a farewell, this process has died: the tasks
/// themselves have got a SIGTERM then (ChildGroup), by which a chief saves and the job ends. Where only children of a task
/// are left they get one from the guard; a session with another machine is told by a word. Whatever is left after a while
/// is killed.
class Guard {
 public:
  /// `patience`: how long tasks may take to leave once their launcher is dead. Then `folder` is removed, with the files in
  /// it, and `last_commands` run, all at once, for at most 10 s.
  static Result<Guard> start(std::string folder, Duration patience, std::vector<LastCommand> last_commands = {});
  Guard(Guard&& other) noexcept;
  Guard& operator=(Guard&&) = delete;
  ~Guard();  ///< A farewell; waits for its end.

  /// `words`: to what a session reads, which stays open until remove(); -1: the group is the task itself.
  void add(pid_t group, int words = -1);
  void remove(pid_t group);
  pid_t id() const { return id_; }
  /// Starts another one if this one is gone. Called when some process has ended.
  Result<void> look();

 private:
  Guard() = default;
  Result<void> begin();
  void tell(char what, pid_t group, int words = -1);

  std::string folder_;
  Duration patience_{};
  std::vector<LastCommand> last_commands_;
  std::map<pid_t, int> groups_;  // With their words.
  pid_t id_ = -1;
  Descriptor writer_;
};

}  // namespace shoal::cli::launch
