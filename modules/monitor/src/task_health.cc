// SPDX-License-Identifier: Apache-2.0
#include "task_health.h"

#include "shoal/base/format.h"

namespace shoal::monitor {

void TaskHealth::look(SteadyTime now) {
  for (const auto& task : registry_.tasks()) look_at(*task, probes_[task.get()], now);
}

void TaskHealth::look_at(const TaskMeters& task, Probe& probe, SteadyTime now) {
  const uint64_t progress = task.progress();
  if (!probe.known || progress != probe.progress) probe.alive = now;
  probe.known = true;
  probe.progress = progress;
  if (probe.answered && probe.answered->load(std::memory_order_acquire)) {
    probe.alive = now;
    probe.answered.reset();
  }
  if (probe.answered) return;
  auto answered = std::make_shared<std::atomic<bool>>(false);
  if (!task.post([answered] { answered->store(true, std::memory_order_release); })) {
    probe.alive = now;  // The task has no strand now, so nothing can hang: it counts as alive.
    return;
  }
  probe.answered = std::move(answered);
  probe.asked = now;
}

/// Outside training and serving, a task may keep its strand busy for long: a run without servers saves and exports there.
/// So the deadline is then ten times deadline_.
Duration TaskHealth::deadline_of(TaskPhase phase) const {
  constexpr int kLongWork = 10;
  return phase == TaskPhase::kTraining || phase == TaskPhase::kServing ? deadline_ : kLongWork * deadline_;
}

HealthReport TaskHealth::report(SteadyTime now) const {
  HealthReport report;
  std::string lines;
  for (const auto& task : registry_.tasks()) {
    lines += task->name() + ": " + to_string(task->phase());
    if (task->global_step.is_set()) lines += formatted(", global step %.0f", task->global_step.value());
    const auto found = probes_.find(task.get());
    const bool asked = found != probes_.end() && found->second.answered;
    const Duration silent = asked ? now - found->second.alive : Duration::zero();
    if (silent > deadline_of(task->phase()) && task->phase() != TaskPhase::kEnded) {
      report.healthy = false;
      lines +=
          formatted("; its strand has not answered for %.0f s, and no step was finished meanwhile", to_seconds(silent));
    }
    lines += "\n";
  }
  report.text = (report.healthy ? "ok\n" : "not ok\n") + (lines.empty() ? "no task has begun yet\n" : lines);
  return report;
}

}  // namespace shoal::monitor
