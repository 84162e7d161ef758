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

/// Members of a task's report that are no metrics: they say which run the results are of.
constexpr std::string_view kOfTheRun[] = {"best", "model_dir", "flags", "seed", "version"};

bool is_of_training(std::string_view name) {
  return name == kStep || name == kRate || name == kSeconds || name == kInterrupted ||
         std::ranges::find(kOfTheRun, name) != std::end(kOfTheRun);
}

void merge(Json& results, const std::string& name, const Json& value) {
  const bool both = results.contains(name) && results[name].is_number() && value.is_number();
  if (both && name == kRate) {
    results[name] = results[name].get<double>() + value.get<double>();
  } else if (name == "seed" || !both || !is_of_training(name) || results[name] < value) {
    results[name] = value;
  }
}

}  // namespace

Json results_of(Storage& storage, std::span<const std::string> report_files) {
  Json metrics = Json::object(), training = Json::object();
  for (const std::string& file : report_files) {
    const auto text = storage.read_all(file, kReportBytesMax);
    if (!text) continue;  // A task that a signal ended, or a program that is none of Shoal's.
    const Json report = json::parse_in_order(*text);
    if (!report.is_object()) continue;
    for (const auto& [name, value] : report.items()) merge(is_of_training(name) ? training : metrics, name, value);
  }
  for (const auto& [name, value] : training.items()) metrics[name] = value;
  return metrics;
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
