#include "task_reports.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace shoal {

void TaskReports::add(const TaskReport& report) {
  const std::lock_guard lock(mutex_);
  metrics_.take(report.metrics);
  if (report.global_step) global_step_ = std::max(global_step_.value_or(0), *report.global_step);
  if (report.examples_per_second) {
    examples_per_second_ = examples_per_second_.value_or(0) + *report.examples_per_second;
  }
  interrupted_ |= report.interrupted;
  gave_way_ |= report.gave_way;
  if (report.seconds) seconds_ = std::max(seconds_.value_or(0), *report.seconds);
}

bool TaskReports::gave_way() const {
  const std::lock_guard lock(mutex_);
  return gave_way_;
}

std::string TaskReports::to_json() const {
  const std::lock_guard lock(mutex_);
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : metrics_) {
    const std::optional<int64_t> count = metrics_.count_of(name);
    json[name] = count ? nlohmann::ordered_json(*count) : nlohmann::ordered_json(value);
  }
  if (global_step_) json["global_step"] = *global_step_;
  if (examples_per_second_) json["examples_per_second"] = *examples_per_second_;
  if (seconds_) json["seconds"] = *seconds_;
  if (interrupted_) json["interrupted"] = true;
  return json.dump();
}

std::string TaskReports::to_text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  char value[64];
  for (const auto& [name, metric] : metrics_) {
    if (name == "global_step") continue;
    std::snprintf(value, sizeof value, "%.4g", metric);
    const std::optional<int64_t> count = metrics_.count_of(name);
    text += (text.empty() ? ": " : ", ") + name + " " + (count ? std::to_string(*count) : value);
  }
  if (interrupted_ && global_step_) {
    return "Interrupted at global step " + std::to_string(*global_step_) + (text.empty() ? "" : "; the last evaluation") +
           text;
  }
  if (text.empty() || !metrics_.contains("global_step")) return {};
  return "Evaluated at global step " + std::to_string(metrics_.integer("global_step")) + text;
}

}  // namespace shoal
