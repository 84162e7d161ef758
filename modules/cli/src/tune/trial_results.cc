// SPDX-License-Identifier: Apache-2.0
#include "tune/trial_results.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "shoal/base/number_text.h"
#include "shoal/estimator/export_names.h"
#include "shoal/json/text.h"

namespace shoal::cli::tune {
namespace {

constexpr uint64_t kReportMaxBytes = uint64_t(16) << 20;
constexpr uint64_t kLastBytes = uint64_t(64) * 1024;
constexpr size_t kWordsMax = 1'000;

/// Reads a number, or the words "NaN" and "nan", for which JSON has no number.
std::optional<double> number_in(const json::Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string& word = value.get_ref<const std::string&>();
  if (word == "NaN" || word == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

/// Returns the end of a file, without the first `begin` bytes of the file.
std::optional<std::string> last_bytes(Storage& storage, const std::string& path, uint64_t begin) {
  const auto file = storage.open(path);
  if (!file) return std::nullopt;
  const uint64_t size = (*file)->size(), count = std::min(size - std::min(size, begin), kLastBytes);
  std::string text(count, '\0');
  if (!(*file)->read_at(size - count, std::as_writable_bytes(std::span(text)))) return std::nullopt;
  return text;
}

}  // namespace

Result<std::optional<TrialReport>> read_report(Storage& storage, const std::string& file, const std::string& metric) {
  const auto text = storage.read_all(file, kReportMaxBytes);
  if (!text && text.error().kind() == ErrorKind::kUnavailable) return text.error();
  if (!text) return std::optional<TrialReport>();
  const auto object = json::parse_object(*text);
  if (!object) return std::optional<TrialReport>();
  TrialReport report;
  const auto interrupted = object->find("interrupted");
  report.interrupted = interrupted != object->end() && interrupted->is_boolean() && interrupted->get<bool>();
  const auto last = object->find("last");
  const bool has_last = last != object->end() && last->is_object();
  const auto take_step = [&report](const json::Json& from) {
    if (const auto step = from.find("global_step"); step != from.end() && step->is_number_integer()) {
      report.step = step->get<int64_t>();
    }
  };
  if (has_last) take_step(*last);  // A start that was interrupted before it trained reports no step of its own.
  take_step(*object);
  for (const auto& [name, value] : object->items()) {
    const std::optional<double> number = number_in(value);
    if (!number) continue;
    if (name == metric) report.value = number;
    report.metrics.append(report.metrics.empty() ? "" : ", ").append(name);
  }
  // A metric that shares its name with another member of the report is only in `last`.
  if (has_last && last->contains(metric)) {
    if (const std::optional<double> number = number_in((*last)[metric])) report.value = number;
  }
  return std::optional(std::move(report));
}

std::string last_words(Storage& storage, const std::string& log, uint64_t begin) {
  constexpr std::string_view kError = "error: ";
  const std::string text = last_bytes(storage, log, begin).value_or("");
  std::string last, error;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, std::min(end - at, kWordsMax));
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
    if (const size_t found = line.find(kError); found != std::string::npos) error = line.substr(found + kError.size());
    at = end + 1;
  }
  return error.empty() ? last : error;
}

}  // namespace shoal::cli::tune
