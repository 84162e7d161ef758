#include "task_reports.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace shoal {

void TaskReports::add(const TaskReport& report) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, value] : report.metrics) metrics_[name] = value;
  if (report.global_step) global_step_ = std::max(global_step_.value_or(0), *report.global_step);
  if (report.examples_per_second) {
    examples_per_second_ = examples_per_second_.value_or(0) + *report.examples_per_second;
  }
  if (report.seconds) seconds_ = std::max(seconds_.value_or(0), *report.seconds);
}

std::string TaskReports::to_json() const {
  const std::lock_guard lock(mutex_);
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : metrics_) json[name] = value;
  if (global_step_) json["global_step"] = *global_step_;
  if (examples_per_second_) json["examples_per_second"] = *examples_per_second_;
  if (seconds_) json["seconds"] = *seconds_;
  return json.dump();
}

std::string TaskReports::to_text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  char value[64];
  for (const auto& [name, metric] : metrics_) {
    if (name == "global_step") continue;
    std::snprintf(value, sizeof value, "%.4g", metric);
    text += (text.empty() ? ": " : ", ") + name + " " + value;
  }
  const auto step = metrics_.find("global_step");
  if (text.empty() || step == metrics_.end()) return {};
  return "Evaluated at global step " + std::to_string(int64_t(step->second)) + text;
}

}  // namespace shoal
