// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/export_names.h"

#include <algorithm>

#include "shoal/base/check.h"

namespace shoal {
namespace {

constexpr size_t kDigits = 10;

}  // namespace

std::optional<int64_t> export_number(std::string_view name) {
  const bool digits = std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (name.size() != kDigits || !digits) return std::nullopt;
  int64_t number = 0;
  for (const char digit : name) number = 10 * number + (digit - '0');
  return number;
}

std::string export_name(int64_t number) {
  SHOAL_CHECK(number >= 0 && number <= kExportNumberMax);
  const std::string digits = std::to_string(number);
  return std::string(kDigits - digits.size(), '0') + digits;
}

Result<std::vector<std::string>> exports_in(Storage& storage, const std::string& folder) {
  SHOAL_TRY(const std::vector<FileInfo> listing, storage.list(folder));
  std::vector<std::string> names;
  for (const FileInfo& file : listing) {
    if (file.is_folder && export_number(file.name)) names.push_back(file.name);
  }
  std::sort(names.begin(), names.end());  // All names have ten digits, so sorted texts are sorted numbers.
  return names;
}

std::optional<std::string> newest_export_of_run(Storage& storage, const std::string& model_dir) {
  const std::string folder = join_path(model_dir, "export");
  const auto exporters = storage.list(folder);
  if (!exporters) return std::nullopt;
  std::optional<std::string> newest, path;
  for (const FileInfo& exporter : *exporters) {
    if (!exporter.is_folder) continue;
    const std::string exports = join_path(folder, exporter.name);
    const auto names = exports_in(storage, exports);
    if (!names || names->empty()) continue;
    if (newest && names->back() <= *newest) continue;  // Names have ten digits, so texts compare as numbers.
    newest = names->back();
    path = join_path(exports, *newest);
  }
  return path;
}

}  // namespace shoal
