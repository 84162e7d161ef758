#pragma once
/// A small process that outlives a launcher which is killed, to end what that had started.
#include <sys/types.h>

#include <set>
#include <string>

#include "launch/descriptor.h"
#include "shoal/base/time.h"

namespace shoal::cli::launch {

/// Told which process groups there are. When its pipe closes without a farewell, this process has died: the tasks
/// themselves have got a SIGTERM then (ChildGroup), by which a chief saves and the job ends. Where only children of a task
/// are left they get one from the guard; whatever is left after a while is killed.
class Guard {
 public:
  /// `patience`: how long tasks may take to leave once their launcher is dead. `folder` is removed then, with the files in
  /// it.
  static Result<Guard> start(std::string folder, Duration patience);
  Guard(Guard&& other) noexcept;
  Guard& operator=(Guard&&) = delete;
  ~Guard();  ///< A farewell; waits for its end.

  void add(pid_t group);
  void remove(pid_t group);
  /// Starts another one if this one is gone. Called when some process has ended.
  Result<void> look();

 private:
  Guard() = default;
  Result<void> begin();
  void tell(char what, pid_t group);

  std::string folder_;
  Duration patience_{};
  std::set<pid_t> groups_;
  pid_t id_ = -1;
  Descriptor writer_;
};

}  // namespace shoal::cli::launch
