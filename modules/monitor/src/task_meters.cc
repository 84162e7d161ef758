// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/task_meters.h"

#include <algorithm>
#include <utility>

namespace shoal::monitor {
namespace {

constexpr std::array<double, 13> kSecondsBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60};
constexpr std::array<double, 9> kStalenessBounds{0, 1, 2, 4, 8, 16, 32, 64, 128};

}  // namespace

const char* to_string(TaskPhase phase) {
  switch (phase) {
    case TaskPhase::kStarting: return "starting";
    case TaskPhase::kTraining: return "training";
    case TaskPhase::kSaving: return "saving";
    case TaskPhase::kEvaluating: return "evaluating";
    case TaskPhase::kServing: return "serving";
    case TaskPhase::kEnded: return "ended";
  }
  return "unknown";
}

TaskMeters::TaskMeters(TaskLabels labels)
    : step_seconds(kSecondsBounds),
      checkpoint_seconds(kSecondsBounds),
      staleness(kStalenessBounds),
      labels_(std::move(labels)),
      name_(labels_.role == "local" ? labels_.role : labels_.role + " " + std::to_string(labels_.index)) {}

void TaskMeters::step(const StepMeasure& measure) {
  global_step.set(double(measure.global_step));
  loss.set(measure.loss);
  steps.add(1);
  examples.add(measure.examples);
  step_seconds.add(to_seconds(measure.time));
  note_progress();
}

void TaskMeters::saved(uint64_t step, Duration time, WallTime now) {
  checkpoint_step.set(double(step));
  checkpoint_time.set(std::chrono::duration<double>(now.time_since_epoch()).count());
  checkpoint_seconds.add(to_seconds(time));
  note_progress();
}

void TaskMeters::evaluated(const std::map<std::string, double>& metrics) {
  const std::lock_guard lock(mutex_);
  ++evaluation_.count;
  evaluation_.metrics = metrics;
}

void TaskMeters::applied(uint64_t step, uint64_t behind) {
  global_step.set(double(step));
  updates.add(1);
  staleness.add(double(behind));
  note_progress();
}

TaskMeters::Evaluation TaskMeters::evaluation() const {
  const std::lock_guard lock(mutex_);
  return evaluation_;
}

void TaskMeters::attach(TaskAccess access) {
  const std::lock_guard lock(mutex_);
  access_ = std::move(access);
}

void TaskMeters::detach() {
  const std::lock_guard lock(mutex_);
  if (access_.wire) last_wire_ = access_.wire();
  access_ = {};
}

bool TaskMeters::post(Work work) const {
  const std::lock_guard lock(mutex_);
  if (!access_.post) return false;
  access_.post(std::move(work));
  return true;
}

TaskAccess::WireBytes TaskMeters::wire_bytes() const {
  const std::lock_guard lock(mutex_);
  return access_.wire ? access_.wire() : last_wire_;
}

std::shared_ptr<TaskMeters> MeterRegistry::add(TaskLabels labels) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(tasks_, [&labels](const auto& task) {
    return task->labels().role == labels.role && task->labels().index == labels.index;
  });
  // A second training in one program continues the meters of the first, since Prometheus refuses two series with the same
  // name and labels.
  if (known != tasks_.end()) return *known;
  return tasks_.emplace_back(std::make_shared<TaskMeters>(std::move(labels)));
}

std::vector<std::shared_ptr<TaskMeters>> MeterRegistry::tasks() const {
  const std::lock_guard lock(mutex_);
  return tasks_;
}

}  // namespace shoal::monitor
