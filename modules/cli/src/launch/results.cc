// SPDX-License-Identifier: Apache-2.0
#include "launch/results.h"

#include <algorithm>

#include "shoal/base/format.h"
#include "shoal/json/text.h"

namespace shoal::cli::launch {
namespace {

constexpr uint64_t kReportBytesMax = uint64_t(16) << 20;
constexpr const char* kStep = "global_step";
constexpr const char* kRate = "examples_per_second";
constexpr const char* kSeconds = "seconds";
constexpr const char* kInterrupted = "interrupted";
constexpr const char* kStatus = "status";
constexpr const char* kError = "error";

/// Members of a task's report that are no metrics: they describe the run.
constexpr std::string_view kOfTheRun[] = {"best",      "error", "export", "flags", "last",
                                          "model_dir", "seed",  "status", "trial", "version"};

bool is_of_training(std::string_view name) {
  return name == kStep || name == kRate || name == kSeconds || name == kInterrupted ||
         std::ranges::find(kOfTheRun, name) != std::end(kOfTheRun);
}

/// True for the report of a failed task. Such a task was started again or was not needed, so its results do not count.
bool has_failed(const Json& report) { return report.contains("status") && report["status"] == "failed"; }

void merge(Json& results, const std::string& name, const Json& value) {
  const bool both = results.contains(name) && results[name].is_number() && value.is_number();
  if (both && name == kRate) {
    results[name] = results[name].get<double>() + value.get<double>();
  } else if (name == kStatus && results.contains(name)) {
    if (value == kInterrupted) results[name] = value;
  } else if (name == "seed" || !both || !is_of_training(name) || results[name] < value) {
    results[name] = value;
  }
}

/// Returns a task's report; an empty object if a signal ended the task, or if its program does not use Shoal.
Json read_report(Storage& storage, const std::string& file) {
  const auto text = storage.read_all(file, kReportBytesMax);
  if (!text) return Json::object();
  Json report = json::parse_in_order(*text);
  return report.is_object() ? report : Json::object();
}

}  // namespace

Json results_of(Storage& storage, std::span<const std::string> report_files) {
  Json metrics = Json::object(), training = Json::object();
  for (const std::string& file : report_files) {
    const Json report = read_report(storage, file);
    if (has_failed(report)) continue;
    for (const auto& [name, value] : report.items()) merge(is_of_training(name) ? training : metrics, name, value);
  }
  for (const auto& [name, value] : training.items()) metrics[name] = value;
  return metrics;
}

std::optional<std::string> failure_of(Storage& storage, const std::string& report_file) {
  const Json report = read_report(storage, report_file);
  if (!has_failed(report) || !report.contains(kError) || !report[kError].is_string()) return std::nullopt;
  return report[kError].get<std::string>();
}

Json failed_results(Json results, const std::string& error) {
  results.erase(kInterrupted);
  results[kStatus] = "failed";
  results[kError] = error;
  return results;
}

std::string results_text(const Json& results) {
  std::string text;
  for (const auto& [name, value] : results.items()) {
    if (is_of_training(name) || !value.is_primitive()) continue;
    std::string shown = value.is_string() ? value.get<std::string>() : json::text_of(value);
    if (value.is_number_float()) shown = formatted("%.4g", value.get<double>());
    text.append(text.empty() ? ": " : ", ").append(name).append(" ").append(shown);
  }
  if (results.contains(kInterrupted) && results.contains(kStep)) {
    return "Interrupted at global step " + json::text_of(results[kStep]) + (text.empty() ? "" : "; the last evaluation") +
           text;
  }
  if (text.empty() || !results.contains(kStep)) return {};
  return "Evaluated at global step " + json::text_of(results[kStep]) + text;
}

}  // namespace shoal::cli::launch
