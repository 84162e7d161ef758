// SPDX-License-Identifier: Apache-2.0
#include "plot/run_facts.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <set>

#include "plot/clean_text.h"
#include "shoal/base/format.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/run_file.h"
#include "shoal/json/text.h"

namespace shoal::cli::plot {
namespace {

constexpr uint64_t kReportBytesMax = uint64_t(16) << 20;

/// Returns true if `result` has a value, false if the file does not exist or is damaged. Adds a complaint to `facts` for a
/// damaged file. Returns any other error.
template <class T>
Result<bool> heard(const Result<T>& result, RunFacts& facts) {
  if (result) return true;
  if (result.error().kind() == ErrorKind::kNotFound) return false;
  if (result.error().kind() != ErrorKind::kDataLoss) return result.error();
  facts.complaints.push_back(result.error().message());
  return false;
}

void take_report(const json::Json& report, RunFacts& facts) {
  static constexpr std::array kTaken{"seed", "version", "status", "error", "trial", "seconds", "examples_per_second"};
  for (const char* name : kTaken) {
    if (const auto found = report.find(name); found != report.end() && !found->is_structured()) facts.facts[name] = *found;
  }
  const auto flags = report.find("flags");
  if (flags == report.end() || !flags->is_object()) return;
  for (const auto& [name, value] : flags->items()) {
    if (!value.is_object()) facts.facts["flags." + name] = value;  // Skips objects: a flag is a single value or a list.
  }
}

Result<void> read_report(Storage& storage, const std::string& model_dir, RunFacts& facts) {
  const std::string path = join_path(model_dir, "report.json");
  if (!storage.exists(path)) return {};
  const Result<std::string> text = storage.read_all(path, kReportBytesMax);
  SHOAL_TRY(const bool is_there, heard(text, facts));
  if (!is_there) return {};
  Result<json::Json> report = json::parse_object(*text);
  if (!report) report = std::move(report).error().with_context(path);
  SHOAL_TRY(const bool is_whole, heard(report, facts));
  if (is_whole) take_report(*report, facts);
  return {};
}

Result<void> read_run_file(Storage& storage, const std::string& model_dir, RunFacts& facts) {
  const auto run = checkpoint::read_run(storage, model_dir);
  SHOAL_TRY(const bool is_there, heard(run, facts));
  if (!is_there || !*run) return {};
  facts.facts["program"] = (*run)->program;
  facts.facts["run_id"] = (*run)->id;
  // emplace() does not replace a seed from report.json, which is the seed of the last start.
  facts.facts.emplace("seed", (*run)->seed);
  return {};
}

/// Opens the newest checkpoint. If it or the `checkpoint` file is damaged or missing, opens the newest intact one, as a
/// start of training does, and adds remarks. DataLoss if there are checkpoints and none is intact. Null if there are none.
Result<std::unique_ptr<checkpoint::Reader>> open_checkpoint(Storage& storage, const std::string& model_dir,
                                                            RunFacts& facts) {
  Result<std::unique_ptr<checkpoint::Reader>> newest = checkpoint::open_latest(storage, model_dir);
  if (newest) return newest;
  if (newest.error().kind() != ErrorKind::kDataLoss && newest.error().kind() != ErrorKind::kNotFound) return newest;
  std::vector<std::string> passed_over;
  auto older =
      checkpoint::latest_intact(storage, model_dir, [&](const std::string& warning) { passed_over.push_back(warning); });
  if (!older && newest.error().kind() == ErrorKind::kDataLoss) return older;
  if (!older || !*older) {
    // The files of the checkpoints were removed, or were not copied along with the rest of the run.
    facts.remarks.push_back(newest.error().message());
    return newest;
  }
  facts.remarks = std::move(passed_over);
  facts.remarks.push_back(model_dir + ": checkpoint model.ckpt-" + std::to_string((*older)->global_step()) +
                          " is compared, since it is the newest one that is intact");
  return older;
}

Result<void> read_checkpoint(Storage& storage, const std::string& model_dir, RunFacts& facts) {
  const auto reader = open_checkpoint(storage, model_dir, facts);
  SHOAL_TRY(const bool is_whole, heard(reader, facts));
  if (!is_whole || !*reader) return {};
  const checkpoint::Manifest& manifest = (*reader)->manifest();
  facts.facts["numerics"] = manifest.info.numerics;
  facts.facts["fingerprint"] = manifest.info.fingerprint;
  facts.facts["newest_checkpoint"] = manifest.global_step;
  return {};
}

/// Shortens numbers, since legends have little room: 0.00111232 and not all digits.
std::string flag_text(const json::Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return formatted("%.4g", value.get<double>());
  if (!value.is_array()) return json::text_of(value);
  std::string list;
  for (const json::Json& one : value) list += (list.empty() ? "" : ",") + flag_text(one);
  return list;
}

}  // namespace

Result<RunFacts> read_run_facts(Storage& storage, const std::string& model_dir) {
  RunFacts facts;
  SHOAL_TRY_VOID(read_report(storage, model_dir, facts));
  SHOAL_TRY_VOID(read_run_file(storage, model_dir, facts));
  SHOAL_TRY_VOID(read_checkpoint(storage, model_dir, facts));
  return facts;
}

Result<RunFacts> read_report_facts(Storage& storage, const std::string& model_dir) {
  RunFacts facts;
  SHOAL_TRY_VOID(read_report(storage, model_dir, facts));
  return facts;
}

std::vector<std::string> differing_flags(const std::vector<RunFacts>& runs) {
  constexpr std::string_view kPrefix = "flags.";
  using Flags = std::map<std::string, json::Json>;
  const auto flags_of = [](const RunFacts& run) {
    Flags flags;
    std::ranges::copy_if(run.facts, std::inserter(flags, flags.end()),
                         [](const auto& fact) { return fact.first.starts_with(kPrefix); });
    return flags;
  };
  std::optional<Flags> first;
  std::set<std::string> differing;
  const auto add_differences = [&differing](const Flags& one, const Flags& other) {
    for (const auto& [name, value] : one) {
      const auto found = other.find(name);
      if (found == other.end() || found->second != value) differing.insert(name);
    }
  };
  for (const RunFacts& run : runs) {
    const Flags flags = flags_of(run);
    if (flags.empty()) continue;  // The run has no report yet, so nothing is known of its flags.
    if (!first) first = flags;
    add_differences(flags, *first);
    add_differences(*first, flags);
  }
  std::vector<std::string> texts;
  for (const RunFacts& run : runs) {
    std::string& text = texts.emplace_back();
    for (const std::string& name : differing) {
      const auto found = run.facts.find(name);
      if (found == run.facts.end()) continue;
      text += (text.empty() ? "" : ", ") + name.substr(kPrefix.size()) + " " + flag_text(found->second);
    }
    text = clean_text(text);
  }
  return texts;
}

std::optional<double> batch_of(const RunFacts& facts) {
  const auto batch = facts.facts.find("flags.batch");
  if (batch == facts.facts.end() || !batch->second.is_number()) return std::nullopt;
  const double examples = batch->second.get<double>();
  return examples > 0 ? std::optional(examples) : std::nullopt;
}

}  // namespace shoal::cli::plot
