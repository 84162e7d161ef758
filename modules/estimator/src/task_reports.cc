// SPDX-License-Identifier: Apache-2.0
#include "task_reports.h"

#include <algorithm>

#include "shoal/base/format.h"
#include "shoal/json/text.h"

namespace shoal {

namespace {

using Json = json::PrintedJson;

Json metrics_json(const Metrics& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) {
    const std::optional<int64_t> count = metrics.count_of(name);
    json[name] = count ? Json(*count) : Json(value);
  }
  return json;
}

/// The values that the program's own flags have, and those of the flags that its body heeds.
Json flags_json(const CommandLine& line) {
  Json json = Json::object();
  for (const auto& [name, item] : line.flags) {
    std::visit([&json, &flag = name](const auto& value) { json[flag] = value; }, item);
  }
  if (line.steps) json["steps"] = *line.steps;
  json["batch"] = line.batch;
  if (line.data_dir) json["data-dir"] = *line.data_dir;
  return json;
}

}  // namespace

void TaskReports::add(const TaskReport& report) {
  const std::lock_guard lock(mutex_);
  metrics_.take(report.metrics);
  const bool better = best_.empty() || (!report.best.empty() && report.best.at("loss") < best_.at("loss"));
  if (better) best_ = report.best;
  if (!report.model_dir.empty()) model_dir_ = report.model_dir;
  if (report.seed) seed_ = report.seed;
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

std::string TaskReports::to_json(const CommandLine& line) const {
  const std::lock_guard lock(mutex_);
  Json json = metrics_json(metrics_);
  if (global_step_) json["global_step"] = *global_step_;
  if (examples_per_second_) json["examples_per_second"] = *examples_per_second_;
  if (seconds_) json["seconds"] = *seconds_;
  if (interrupted_) json["interrupted"] = true;
  if (!best_.empty()) json["best"] = metrics_json(best_);
  if (!model_dir_.empty()) json["model_dir"] = model_dir_;
  json["flags"] = flags_json(line);
  if (seed_) json["seed"] = *seed_;
  json["version"] = SHOAL_VERSION;
  return shoal::json::text_of(json);  // Names of folders may be any bytes.
}

std::string TaskReports::to_text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [name, metric] : metrics_) {
    if (name == "global_step") continue;
    const std::optional<int64_t> count = metrics_.count_of(name);
    text += (text.empty() ? ": " : ", ") + name + " " + (count ? std::to_string(*count) : formatted("%.4g", metric));
  }
  if (interrupted_ && global_step_) {
    return "Interrupted at global step " + std::to_string(*global_step_) + (text.empty() ? "" : "; the last evaluation") +
           text;
  }
  if (text.empty() || !metrics_.contains("global_step")) return {};
  return "Evaluated at global step " + std::to_string(metrics_.integer("global_step")) + text;
}

}  // namespace shoal
