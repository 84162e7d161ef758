// SPDX-License-Identifier: Apache-2.0
#include "launch/results.h"

#include <algorithm>

#include "safe_text.h"
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

/// Members that describe the start of the program that has trained. Only the leader knows them for certain: if nothing was
/// left to train, its report has those of the start that trained, and other tasks report the flags that they were given.
constexpr std::string_view kOfTheStart[] = {"flags", "model_dir", "seed", "trial", "version"};

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

/// Takes from the report of the leader what it alone decides. A signal to a worker or to the evaluator alone interrupts
/// that task, and not the job.
void take_from_leader(Json& training, const Json& leader) {
  for (const std::string_view member : kOfTheStart) {
    const std::string name(member);
    if (leader.contains(name)) training[name] = leader[name];
  }
  if (leader.empty() || has_failed(leader)) return;
  for (const char* name : {kStatus, kInterrupted}) {
    if (leader.contains(name)) {
      training[name] = leader[name];
    } else {
      training.erase(name);
    }
  }
}

std::optional<int64_t> step_in(const Json& report) {
  const auto step = report.find(kStep);
  return step != report.end() && step->is_number_integer() ? std::optional(step->get<int64_t>()) : std::nullopt;
}

/// Returns the global step in the member `last` of a report; nothing if there is none.
std::optional<int64_t> last_step_in(const Json& report) {
  const auto last = report.find("last");
  return last != report.end() && last->is_object() ? step_in(*last) : std::nullopt;
}

/// Returns the global step of the evaluation whose metrics are in a task's report; nothing if it has none. The report of a
/// master also has the global step of training; that of the evaluation is in its member `last`.
std::optional<int64_t> evaluated_step_in(const Json& report) {
  const bool has_metrics =
      std::ranges::any_of(report.items(), [](const auto& member) { return !is_of_training(member.key()); });
  if (!has_metrics) return std::nullopt;
  const auto last = last_step_in(report);
  return last ? last : step_in(report);
}

/// Returns a task's report; an empty object if a signal ended the task, or if its program does not use Shoal.
Json read_report(Storage& storage, const std::string& file) {
  const auto text = storage.read_all(file, kReportBytesMax);
  if (!text) return Json::object();
  Json report = json::parse_in_order(*text);
  return report.is_object() ? report : Json::object();
}

}  // namespace

JobResults results_of(Storage& storage, std::span<const std::string> report_files) {
  JobResults results;
  Json training = Json::object();
  for (const std::string& file : report_files) {
    const Json report = read_report(storage, file);
    if (has_failed(report)) continue;
    for (const auto& [name, value] : report.items()) merge(is_of_training(name) ? training : results.json, name, value);
    if (const auto step = evaluated_step_in(report)) results.evaluated_step = step;
  }
  if (!report_files.empty()) {
    const Json leader = read_report(storage, report_files.front());
    take_from_leader(training, leader);
    results.trained_step = step_in(leader);
  }
  for (const auto& [name, value] : training.items()) results.json[name] = value;
  return results;
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

Json interrupted_results(Json results) {
  results[kStatus] = kInterrupted;
  results[kInterrupted] = true;
  return results;
}

std::string results_text(const JobResults& results) {
  std::string text;
  for (const auto& [name, value] : results.json.items()) {
    if (is_of_training(name) || !value.is_primitive()) continue;
    std::string shown = value.is_string() ? value.get<std::string>() : json::text_of(value);
    if (value.is_number_float()) shown = formatted("%.4g", value.get<double>());
    text.append(text.empty() ? ": " : ", ").append(clean_text(name)).append(" ").append(clean_text(shown));
  }
  if (results.json.contains(kInterrupted) && results.json.contains(kStep)) {
    return "Interrupted at global step " + json::text_of(results.json[kStep]) +
           (text.empty() ? "" : "; the last evaluation") + text;
  }
  if (text.empty() || !results.evaluated_step) return {};
  return "Evaluated at global step " + std::to_string(*results.evaluated_step) + text;
}

std::string unevaluated_text(const JobResults& results, const std::string& evaluator) {
  if (!results.trained_step || results.json.contains(kInterrupted)) return {};
  // If an earlier start, or an earlier process of the evaluator, has evaluated this step, only the member `last` shows it.
  if (std::max(results.evaluated_step, last_step_in(results.json)) >= results.trained_step) return {};
  return "global step " + std::to_string(*results.trained_step) + ", where training ended, was not evaluated; " +
         evaluator +
         (results.evaluated_step ? " ended after it had evaluated global step " + std::to_string(*results.evaluated_step)
                                 : " ended before it had evaluated anything");
}

}  // namespace shoal::cli::launch
