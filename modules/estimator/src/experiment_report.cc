// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/experiment_report.h"

#include "shoal/json/text.h"

namespace shoal {
namespace {

using ReportJson = json::PrintedJson;

ReportJson metrics_json(const Metrics& metrics) {
  ReportJson json = ReportJson::object();
  for (const auto& [name, value] : metrics) {
    const std::optional<int64_t> count = metrics.count_of(name);
    json[name] = count ? ReportJson(*count) : ReportJson(value);
  }
  return json;
}

ReportJson parameters_json(const Params& parameters) {
  ReportJson json = ReportJson::object();
  for (const auto& [name, item] : parameters) {
    std::visit([&json, &name = name](const auto& value) { json[name] = value; }, item);
  }
  return json;
}

}  // namespace

std::string_view to_string(ExperimentStatus status) {
  switch (status) {
    case ExperimentStatus::kComplete: return "complete";
    case ExperimentStatus::kInterrupted: return "interrupted";
    case ExperimentStatus::kFailed: return "failed";
  }
  return "unknown";
}

/// Writes each metric as a member of the JSON object. A metric that is named like one of the report's own members
/// (kMembers) appears only inside the member `last`, even if the report lacks its own member of that name.
std::string ExperimentReport::to_json() const {
  static constexpr std::string_view kMembers[] = {"status",  "error",       "examples_per_second",
                                                  "seconds", "interrupted", "last",
                                                  "best",    "model_dir",   "export",
                                                  "trial",   "flags",       "seed",
                                                  "version"};
  ReportJson json = metrics_json(metrics);
  for (const std::string_view member : kMembers) json.erase(std::string(member));
  json["status"] = to_string(status);
  if (!error.empty()) json["error"] = error;
  if (global_step) json["global_step"] = *global_step;
  if (examples_per_second) json["examples_per_second"] = *examples_per_second;
  if (seconds) json["seconds"] = *seconds;
  if (status == ExperimentStatus::kInterrupted) json["interrupted"] = true;
  if (!last.empty()) json["last"] = metrics_json(last);
  if (!best.empty()) json["best"] = metrics_json(best);
  if (!model_dir.empty()) json["model_dir"] = model_dir;
  if (!export_path.empty()) json["export"] = export_path;
  if (trial) json["trial"] = *trial;
  json["flags"] = parameters_json(parameters);
  if (seed) json["seed"] = *seed;
  json["version"] = version;
  return shoal::json::text_of(json);  // text_of() accepts names of folders that are not UTF-8.
}

}  // namespace shoal
