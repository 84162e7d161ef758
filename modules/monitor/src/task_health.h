// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Judges whether tasks are alive: a task is alive if its strand answers, or if it makes progress in work that keeps the
/// strand busy.
#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "shoal/monitor/task_meters.h"

namespace shoal::monitor {

struct HealthReport {
  bool healthy = true;
  std::string text;  ///< "ok" or "not ok", and a line for each task.
};

/// Used on the thread of the metrics endpoint. Asks each task by posting work to the task's strand. The work answers by
/// setting an atomic flag, so no thread waits for another.
class TaskHealth {
 public:
  /// A task is unhealthy if it gives no sign of life for `deadline` while it trains or serves, or for ten times as long in
  /// another phase.
  explicit TaskHealth(const MeterRegistry& registry, Duration deadline) : registry_(registry), deadline_(deadline) {}

  /// Notes which tasks have given a sign of life since the last call, and asks the strand of each task for another one. The
  /// endpoint calls this at regular intervals, several times within the deadline.
  void look(SteadyTime now);
  HealthReport report(SteadyTime now) const;

 private:
  struct Probe {
    std::shared_ptr<std::atomic<bool>> answered;  // Set by the work that look() posts to the strand. Null: none was posted.
    SteadyTime asked{};
    SteadyTime alive{};  // The last sign of life of the task.
    uint64_t progress = 0;
    bool known = false;
  };
  Duration deadline_of(TaskPhase phase) const;
  static void look_at(const TaskMeters& task, Probe& probe, SteadyTime now);

  const MeterRegistry& registry_;
  const Duration deadline_;
  std::map<const TaskMeters*, Probe> probes_;  // The registry keeps the tasks alive, so the keys stay valid.
};

}  // namespace shoal::monitor
