// SPDX-License-Identifier: Apache-2.0
#include "report_files.h"

#include <algorithm>

#include "evaluate/best_evaluation.h"
#include "shoal/checkpoint/run_count.h"
#include "shoal/checkpoint/run_file.h"
#include "shoal/estimator/export_names.h"
#include "shoal/json/text.h"

namespace shoal {
namespace {

constexpr uint64_t kReportBytesMax = uint64_t(16) << 20;

std::shared_ptr<Storage> storage_of(const LedFolder& folder) {
  return folder.storage ? folder.storage : std::shared_ptr<Storage>(make_file_storage());
}

/// Adds to the report what only the files of the folder contain: the newest export, and the evaluations of earlier starts
/// and of other tasks.
void add_from_folder(ExperimentReport& report, Storage& storage, const std::string& eval_dir) {
  report.export_path = newest_export_of_run(storage, report.model_dir).value_or("");
  report.last = report.metrics;
  if (!report.metrics.empty()) return;  // A task of this program has evaluated, and has set the report's `best`.
  const std::string evaluations = eval_dir.empty() ? join_path(report.model_dir, "eval") : eval_dir;
  const auto past = read_evaluations(storage, evaluations);
  if (!past || past->by_step.empty()) return;
  report.last = past->by_step.rbegin()->second;
  report.best = best_evaluation(storage, evaluations, {});
}

/// Reads the report of a run that is complete. Nothing if the file is missing or damaged, or if the start that wrote it ended
/// after the last step but before the end of its work.
std::optional<json::Json> complete_report(Storage& storage, const std::string& path) {
  const auto text = storage.read_all(path, kReportBytesMax);
  auto report = text ? json::parse_object(*text) : Result<json::Json>(text.error());
  const bool complete =
      report && report->contains("status") && (*report)["status"] == to_string(ExperimentStatus::kComplete);
  return complete ? std::optional<json::Json>(*std::move(report)) : std::nullopt;
}

/// A flag as a report has it; nothing for a value that no flag has.
std::optional<Params::Item> flag_in_report(const json::Json& value) {
  const auto all = [&](bool (*is)(const json::Json&)) { return std::ranges::all_of(value, is); };
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return std::nullopt;
  if (all([](const json::Json& item) { return item.is_string(); })) return value.get<std::vector<std::string>>();
  if (all([](const json::Json& item) { return item.is_number_integer(); })) return value.get<std::vector<int64_t>>();
  if (all([](const json::Json& item) { return item.is_number(); })) return value.get<std::vector<double>>();
  return std::nullopt;
}

/// For a start that found nothing left to train: the flags, the seed and the version of the start that trained replace those
/// of this one, since the numbers of the report came from there.
void take_from_trained(ExperimentReport& report, const json::Json& trained) {
  if (const auto flags = trained.find("flags"); flags != trained.end() && flags->is_object()) {
    report.parameters = {};
    for (const auto& [name, value] : flags->items()) {
      if (const auto flag = flag_in_report(value)) report.parameters.set(name, *flag);
    }
  }
  if (const auto seed = trained.find("seed"); seed != trained.end() && seed->is_number_integer()) {
    report.seed = seed->get<int64_t>();
  }
  if (const auto version = trained.find("version"); version != trained.end() && version->is_string()) {
    report.version = version->get<std::string>();
  }
}

int64_t step_of_last(const ExperimentReport& report) {
  return report.last.contains("global_step") ? report.last.integer("global_step") : -1;
}

/// Adds the evaluations of a cluster's evaluator to the report that the chief has written. A chief that has not written its
/// report yet reads them from the event files.
Result<void> add_evaluations(Storage& storage, const ExperimentReport& evaluated) {
  const std::string path = join_path(evaluated.model_dir, kReportName);
  if (!storage.exists(path)) return {};
  SHOAL_TRY(const std::string text, storage.read_all(path, kReportBytesMax));
  const Result<json::Json> report = json::parse_object(text);
  if (!report || !report->contains("status")) return {};
  if ((*report)["status"] == to_string(ExperimentStatus::kFailed)) return {};
  const json::Json own = json::parse_value(evaluated.to_json()).value();
  json::Json whole = *report;
  for (const char* name : {"last", "best", "export"}) {
    if (own.contains(name)) whole[name] = own[name];
  }
  return storage.write_atomically(path, json::text_of(whole) + "\n");
}

void fail(ExperimentReport& report, const std::string& failure) {
  report.status = ExperimentStatus::kFailed;
  report.error = failure;
}

/// Whether the folder still belongs to this start of the program. Meanwhile the folder may have been removed or replaced,
/// or another start may have begun to train in it.
bool is_still_ours(Storage& storage, const LedFolder& folder) {
  const auto run = checkpoint::read_run(storage, folder.model_dir);
  if (!run || !*run || (*run)->id != folder.run) return false;
  const auto newest = checkpoint::newest_run(storage, folder.model_dir, [](const std::string&) {});
  return newest && *newest == folder.start;
}

/// True if the program's error concerns the training in `folder`: either that training is the program's last one, or no
/// task has reported that the training has ended.
bool has_failed(const TaskReports& reports, const LedFolder& folder, const LedFolder& last) {
  return folder.model_dir == last.model_dir || !reports.has_report_of(folder.model_dir);
}

Result<void> write_folder_report(const TaskReports& reports, const CommandLine& line, const LedFolder& folder,
                                 const std::optional<std::string>& failure) {
  const std::string path = join_path(folder.model_dir, kReportName);
  const auto storage = storage_of(folder);
  // A start that finds nothing left to train does not replace the report of the start that trained.
  if (!folder.trains && complete_report(*storage, path)) return {};
  if (!is_still_ours(*storage, folder)) return {};
  const auto found = [&] {
    ExperimentReport report = reports.merged(line, folder.model_dir);
    if (failure) fail(report, *failure);
    add_from_folder(report, *storage, reports.eval_dir(folder.model_dir));
    return report;
  };
  const ExperimentReport report = found();
  SHOAL_TRY_VOID(storage->write_atomically(path, report.to_json() + "\n"));
  // An evaluator in another process adds its evaluations to this file. If it ended after the first found() but before the
  // write, it had no file to add them to. So its evaluations are looked for once more.
  const ExperimentReport again = found();
  if (step_of_last(again) <= step_of_last(report)) return {};
  return storage->write_atomically(path, again.to_json() + "\n");
}

/// True for a list without elements, of any type: a report does not tell the type of such a list.
bool is_empty_list(const Params::Item& item) {
  const auto* const whole = std::get_if<std::vector<int64_t>>(&item);
  const auto* const numbers = std::get_if<std::vector<double>>(&item);
  const auto* const texts = std::get_if<std::vector<std::string>>(&item);
  return (whole && whole->empty()) || (numbers && numbers->empty()) || (texts && texts->empty());
}

}  // namespace

ExperimentReport program_report(const TaskReports& reports, const CommandLine& line,
                                const std::optional<std::string>& failure) {
  ExperimentReport report = reports.merged(line);
  if (failure) fail(report, *failure);
  const std::vector<LedFolder> folders = reports.led_folders();
  const auto led = std::ranges::find(folders, report.model_dir, &LedFolder::model_dir);
  // This process led no training and evaluated nothing: it had only workers or servers. Nothing is added to their report.
  if (led == folders.end() && report.metrics.empty()) return report;
  const auto storage = led == folders.end() ? std::shared_ptr<Storage>(make_file_storage()) : storage_of(*led);
  add_from_folder(report, *storage, reports.eval_dir(report.model_dir));
  if (led != folders.end() && !led->trains) {
    const auto trained = complete_report(*storage, join_path(report.model_dir, kReportName));
    if (trained) take_from_trained(report, *trained);
  }
  return report;
}

std::string flags_not_used(const ExperimentReport& report, const ExperimentReport& own) {
  std::string text;
  for (const auto& [name, item] : own.parameters) {
    const auto same = [&, &name = name, &item = item](const Params::Pair& other) {
      return other.first == name && (other.second == item || (is_empty_list(other.second) && is_empty_list(item)));
    };
    if (std::none_of(report.parameters.begin(), report.parameters.end(), same)) text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::vector<std::string> write_folder_reports(const TaskReports& reports, const CommandLine& line,
                                              const std::optional<std::string>& failure) {
  std::vector<std::string> complaints;
  const auto heed = [&complaints](const Result<void>& written) {
    if (!written) complaints.push_back("the report of this run could not be written: " + written.error().message());
  };
  const std::vector<LedFolder> folders = reports.led_folders();
  for (const LedFolder& folder : folders) {
    const bool failed = failure && has_failed(reports, folder, folders.back());
    heed(write_folder_report(reports, line, folder, failed ? failure : std::nullopt));
  }
  if (!folders.empty() || failure) return complaints;
  const ExperimentReport report = program_report(reports, line);
  if (!report.metrics.empty()) heed(add_evaluations(*make_file_storage(), report));
  return complaints;
}

}  // namespace shoal
