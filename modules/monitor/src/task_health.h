// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Whether tasks are alive: their strands answer, or they get on with work that keeps these busy.
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

/// Belongs to the endpoint's thread. Work is left at each strand, which answers by an atomic: nobody waits for anybody.
class TaskHealth {
 public:
  /// `deadline`: of a task that trains or serves; others have ten times as long.
  explicit TaskHealth(const MeterRegistry& registry, Duration deadline) : registry_(registry), deadline_(deadline) {}

  /// Called every so often, a few times within the deadline.
  void look(SteadyTime now);
  HealthReport report(SteadyTime now) const;

 private:
  struct Probe {
    std::shared_ptr<std::atomic<bool>> answered;  // Null: none is out.
    SteadyTime asked{};
    SteadyTime alive{};  // When the task last showed that it is.
    uint64_t progress = 0;
    bool known = false;
  };
  Duration deadline_of(TaskPhase phase) const;
  static void look_at(const TaskMeters& task, Probe& probe, SteadyTime now);

  const MeterRegistry& registry_;
  const Duration deadline_;
  std::map<const TaskMeters*, Probe> probes_;  // The registry keeps the tasks.
};

}  // namespace shoal::monitor
