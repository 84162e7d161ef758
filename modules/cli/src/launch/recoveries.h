// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How often each task was started again, and how long it was away each time: what a launch says at its end.
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/time.h"

namespace shoal::cli::launch {

class Recoveries {
 public:
  static constexpr Duration kAwaitedMax = std::chrono::seconds(60);

  explicit Recoveries(std::vector<std::string> names);

  /// The task is gone, and may come back.
  void ended(size_t task, bool by_chaos, SteadyTime now);
  /// A new process of it runs. One that has no address is back by that; any other within kAwaitedMax, or it is not known
  /// when.
  void started(size_t task, bool has_address, SteadyTime now);
  /// It listens at its address.
  void listens(size_t task, SteadyTime now);
  /// Whether any was started again and does not listen yet, as far as is known.
  bool any_awaited(SteadyTime now) const;

  /// How often a new process of the task was started, without the first.
  int restarts(size_t task) const { return tasks_[task].starts; }
  /// A line for each task that was started again; or none:
  ///   "worker 1 was started again 3 times (2 of them after chaos); it was back after 0.2, 1.1, 0.3 s"
  std::vector<std::string> lines() const;

 private:
  struct Entry {
    std::string name;
    int starts = 0;  // Without the first.
    int by_chaos = 0;
    std::optional<SteadyTime> awaited_until{};
    std::optional<SteadyTime> ended_at{};
    bool ended_by_chaos = false;
    std::vector<double> away_secs{};
  };
  std::vector<Entry> tasks_;
};

}  // namespace shoal::cli::launch
