// SPDX-License-Identifier: Apache-2.0
#include "task_reports.h"

#include <algorithm>

#include "shoal/base/format.h"

namespace shoal {

namespace {

/// The parameters of a report: the values of the program's own flags, and of --steps, --batch and --data-dir.
Params parameters_of(const CommandLine& line) {
  Params parameters = line.flags;
  if (line.steps) parameters.set("steps", *line.steps);
  parameters.set("batch", line.batch);
  if (line.data_dir) parameters.set("data-dir", *line.data_dir);
  return parameters;
}

/// Joins the reports of two trainings that one task has made one after the other.
TaskReport joined(const TaskReport& first, const TaskReport& second) {
  TaskReport both = second;
  both.metrics = first.metrics;
  both.metrics.take(second.metrics);
  if (both.best.empty() || (!first.best.empty() && first.best.at("loss") < both.best.at("loss"))) both.best = first.best;
  if (!both.seed) both.seed = first.seed;
  if (first.global_step) both.global_step = std::max(both.global_step.value_or(0), *first.global_step);
  if (first.seconds) both.seconds = both.seconds.value_or(0) + *first.seconds;
  const auto examples = [](const TaskReport& one) { return one.examples_per_second.value_or(0) * one.seconds.value_or(0); };
  if (first.examples_per_second && both.seconds.value_or(0) > 0) {
    both.examples_per_second = (examples(first) + examples(second)) / *both.seconds;
  }
  return both;
}

/// Joins the reports of each task into one report per task, in the order of each task's first report. Uses only reports
/// about `model_dir`, and reports without a model_dir.
std::vector<TaskReport> by_task(const std::vector<TaskReport>& reports, const std::string& model_dir) {
  std::vector<TaskReport> tasks;
  for (const TaskReport& report : reports) {
    if (!report.model_dir.empty() && report.model_dir != model_dir) continue;
    const auto before = std::ranges::find(tasks, report.task, &TaskReport::task);
    if (before == tasks.end()) {
      tasks.push_back(report);
    } else {
      *before = joined(*before, report);
    }
  }
  return tasks;
}

void merge(ExperimentReport& whole, const TaskReport& report) {
  whole.metrics.take(report.metrics);
  const bool better = whole.best.empty() || (!report.best.empty() && report.best.at("loss") < whole.best.at("loss"));
  if (better) whole.best = report.best;
  if (!report.model_dir.empty()) whole.model_dir = report.model_dir;
  if (report.seed) whole.seed = report.seed;
  if (report.global_step) whole.global_step = std::max(whole.global_step.value_or(0), *report.global_step);
  if (report.examples_per_second) {
    whole.examples_per_second = whole.examples_per_second.value_or(0) + *report.examples_per_second;
  }
  if (report.interrupted) whole.status = ExperimentStatus::kInterrupted;
  if (report.seconds) whole.seconds = std::max(whole.seconds.value_or(0), *report.seconds);
}

}  // namespace

void TaskReports::start(const RunConfig& config) {
  const std::lock_guard lock(mutex_);
  has_started_ = true;
  if (config.model_dir()) model_dir_ = *config.model_dir();
  if (config.trial()) trial_ = config.trial();
}

void TaskReports::lead(LedFolder folder) {
  const std::lock_guard lock(mutex_);
  std::erase_if(folders_, [&folder](const LedFolder& other) { return other.model_dir == folder.model_dir; });
  folders_.push_back(std::move(folder));
}

void TaskReports::add(const TaskReport& report) {
  const std::lock_guard lock(mutex_);
  reports_.push_back(report);
}

bool TaskReports::has_started() const {
  const std::lock_guard lock(mutex_);
  return has_started_;
}

bool TaskReports::gave_way() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(reports_, &TaskReport::gave_way);
}

std::vector<LedFolder> TaskReports::led_folders() const {
  const std::lock_guard lock(mutex_);
  return folders_;
}

std::string TaskReports::eval_dir(const std::string& model_dir) const {
  const std::lock_guard lock(mutex_);
  const auto of_folder = [&model_dir](const TaskReport& report) {
    return report.model_dir == model_dir && !report.eval_dir.empty();
  };
  const auto found = std::ranges::find_if(reports_, of_folder);
  return found == reports_.end() ? std::string() : found->eval_dir;
}

bool TaskReports::has_report_of(const std::string& model_dir) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::find(reports_, model_dir, &TaskReport::model_dir) != reports_.end();
}

ExperimentReport TaskReports::merged(const CommandLine& line) const {
  const std::lock_guard lock(mutex_);
  ExperimentReport whole{
      .parameters = parameters_of(line), .model_dir = model_dir_, .trial = trial_, .version = SHOAL_VERSION};
  // If there were several trainings, later ones overwrite model_dir and seed, so the report is about the last one.
  for (const TaskReport& report : reports_) {
    if (!report.model_dir.empty()) whole.model_dir = report.model_dir;
  }
  if (!folders_.empty()) {
    whole.model_dir = folders_.back().model_dir;
    whole.seed = folders_.back().seed;
  }
  for (const TaskReport& task : by_task(reports_, whole.model_dir)) merge(whole, task);
  return whole;
}

ExperimentReport TaskReports::merged(const CommandLine& line, const std::string& model_dir) const {
  const std::lock_guard lock(mutex_);
  ExperimentReport whole{
      .parameters = parameters_of(line), .model_dir = model_dir, .trial = trial_, .version = SHOAL_VERSION};
  for (const LedFolder& folder : folders_) {
    if (folder.model_dir == model_dir) whole.seed = folder.seed;
  }
  for (const TaskReport& task : by_task(reports_, model_dir)) merge(whole, task);
  return whole;
}

std::string results_text(const ExperimentReport& report) {
  std::string text;
  for (const auto& [name, metric] : report.metrics) {
    if (name == "global_step") continue;
    const std::optional<int64_t> count = report.metrics.count_of(name);
    text += (text.empty() ? ": " : ", ") + name + " " + (count ? std::to_string(*count) : formatted("%.4g", metric));
  }
  if (report.status == ExperimentStatus::kInterrupted && report.global_step) {
    return "Interrupted at global step " + std::to_string(*report.global_step) +
           (text.empty() ? "" : "; the last evaluation") + text;
  }
  if (text.empty() || !report.metrics.contains("global_step")) return {};
  return "Evaluated at global step " + std::to_string(report.metrics.integer("global_step")) + text;
}

}  // namespace shoal
