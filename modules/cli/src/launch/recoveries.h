// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Counts how often each task was started again, and how long it was away each time, for the summary at the end of a
/// launch.
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/time.h"

namespace shoal::cli::launch {

class Recoveries {
 public:
  static constexpr Duration kAwaitedMax = std::chrono::seconds(60);

  explicit Recoveries(std::vector<std::string> names);

  /// Reports that the task's process has ended, and that a new one may be started.
  void ended(size_t task, bool by_chaos, SteadyTime now);
  /// Reports that a new process of the task runs. The task counts as recovered now if it has no address; else it counts as
  /// recovered when it listens at its address, if that happens within kAwaitedMax.
  void started(size_t task, bool has_address, SteadyTime now);
  /// Reports that the task listens at its address.
  void listens(size_t task, SteadyTime now);
  /// Whether some task was started again and has not been seen to listen yet.
  bool any_awaited(SteadyTime now) const;

  /// How often a new process of the task was started, not counting the first.
  int restarts(size_t task) const { return tasks_[task].starts; }
  /// One line for each task that was started again ("chaos" means that --chaos had killed the task):
  ///   "worker 1 was started again 3 times (2 of them after chaos); it was back after 0.2, 1.1, 0.3 s"
  std::vector<std::string> lines() const;

 private:
  struct Entry {
    std::string name;
    int starts = 0;  // Starts of new processes, not counting the first.
    int by_chaos = 0;
    std::optional<SteadyTime> awaited_until{};
    std::optional<SteadyTime> ended_at{};
    bool ended_by_chaos = false;
    std::vector<double> away_secs{};
  };
  std::vector<Entry> tasks_;
};

}  // namespace shoal::cli::launch
