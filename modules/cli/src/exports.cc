// SPDX-License-Identifier: Apache-2.0
#include "exports.h"

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

void add_runtime_options(arguments::Command& command, RuntimeOptions& runtime) {
  command.add("--backend", runtime.backend, "The backend that computes: onednn, reference");
  command.add("--threads", runtime.threads, "Compute threads").check(arguments::check_positive);
}

}  // namespace shoal::cli
