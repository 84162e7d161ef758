// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A small process that outlives a killed launcher, and ends the processes that the launcher had started.
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "launch/descriptor.h"
#include "shoal/base/time.h"

namespace shoal::cli::launch {

/// A command that the guard runs after the launcher has died, with the text of its standard input.
struct LastCommand {
  std::string file;  ///< The result of find_program().
  std::vector<std::string> command;
  std::vector<std::string> environment;
  std::string input;
};

/// A guard is a helper process that ends the tasks of a launcher that has died. The launcher tells it over a socket which
/// process groups exist. If the socket closes without a farewell, the launcher is dead. The kernel has then sent a SIGTERM
/// to the main process of each task (ChildGroup). On this signal a chief saves a checkpoint and ends the job. The guard
/// sends SIGTERM to each group whose main process is gone, and the line "term" to each ssh session of a task on another
/// machine. It kills groups that still exist after `patience`.
class Guard {
 public:
  /// `patience`: how long tasks may take to end once their launcher is dead. Then `last_commands` run, all at once, for at
  /// most 10 s, and `folder` is removed with the files in it.
  static Result<Guard> start(std::string folder, Duration patience, std::vector<LastCommand> last_commands = {});
  Guard(Guard&& other) noexcept;
  Guard& operator=(Guard&&) = delete;
  ~Guard();  ///< Tells the guard process that the launcher ends normally, and waits until the guard process has ended.

  /// Tells the guard of a new process group: that of a task, or of an ssh process for a task on another machine. `words`:
  /// for ssh, the descriptor of its standard input, which has to stay open until remove(); -1 for a task on this machine.
  void add(pid_t group, int words = -1);
  void remove(pid_t group);
  pid_t id() const { return id_; }
  /// Starts a new guard process if the present one is gone. Call this function when some process has ended.
  Result<void> look();

 private:
  Guard() = default;
  Result<void> begin();
  void tell(char what, pid_t group, int words = -1);

  std::string folder_;
  Duration patience_{};
  std::vector<LastCommand> last_commands_;
  std::map<pid_t, int> groups_;  // Maps each process group to the argument `words` with which add() added it.
  pid_t id_ = -1;
  Descriptor writer_;
};

}  // namespace shoal::cli::launch
