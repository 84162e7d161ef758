// SPDX-License-Identifier: Apache-2.0
#include "exports.h"

#include <optional>

#include "shoal/arguments/command.h"
#include "shoal/estimator/export_names.h"

namespace shoal::cli {

Result<std::string> find_export(Storage& storage, const std::string& path) {
  if (storage.exists(join_path(path, "export.json"))) return path;
  SHOAL_TRY(const std::vector<std::string> exports, exports_in(storage, path));
  if (!exports.empty()) return join_path(path, exports.back());
  return not_found(path +
                   ": no export; name a folder with an export.json, or one of exports, such as model_dir/export/best");
}

namespace {

/// The first folder in `folder` that has exports; nothing if there is none.
std::optional<std::string> folder_of_exports(Storage& storage, const std::string& folder) {
  const auto listing = storage.list(folder);
  if (!listing) return std::nullopt;
  for (const FileInfo& file : *listing) {
    if (!file.is_folder) continue;
    std::string path = join_path(folder, file.name);
    if (const auto exports = exports_in(storage, path); exports && !exports->empty()) return path;
  }
  return std::nullopt;
}

}  // namespace

Result<void> check_no_exports_near(Storage& storage, const std::string& path) {
  if (storage.exists(join_path(path, "export.json"))) {
    return not_found(path + ": no exports in it, since it is one: name its folder, or use shoal export show");
  }
  std::optional<std::string> near = folder_of_exports(storage, path);
  if (!near) near = folder_of_exports(storage, join_path(path, "export"));
  if (!near) return {};
  return not_found(path + ": no exports in it itself; name a folder of exports, such as " + *near);
}

void add_runtime_options(arguments::Command& command, RuntimeOptions& runtime) {
  command.add("--backend", runtime.backend, "The backend that computes: onednn, portable, reference");
  command.add("--threads", runtime.threads, "Compute threads").check(arguments::check_positive);
}

}  // namespace shoal::cli
