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

/// Used on the endpoint's thread. It posts work to each strand, and the work sets an atomic flag as the answer, so no
/// thread waits for another.
class TaskHealth {
 public:
  /// `deadline` holds while a task trains or serves; in other phases a task has ten times as long.
  explicit TaskHealth(const MeterRegistry& registry, Duration deadline) : registry_(registry), deadline_(deadline) {}

  /// Called at regular intervals, several times within the deadline.
  void look(SteadyTime now);
  HealthReport report(SteadyTime now) const;

 private:
  struct Probe {
    std::shared_ptr<std::atomic<bool>> answered;  // Set by the posted work; null: no answer is awaited.
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
