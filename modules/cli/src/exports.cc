#include "exports.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace shoal::cli {

bool is_export_name(std::string_view name) {
  return name.size() == 10 && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Result<std::string> find_export(Storage& storage, const std::string& path) {
  if (storage.exists(join_path(path, "export.json"))) return path;
  SHOAL_TRY(const std::vector<FileInfo> listing, storage.list(path));
  const auto newest = std::find_if(listing.rbegin(), listing.rend(), [](const FileInfo& file) {
    return file.is_folder && is_export_name(file.name);
  });  // The names of one length sort as their numbers do.
  if (newest != listing.rend()) return join_path(path, newest->name);
  return not_found(path +
                   ": no export; name a folder with an export.json, or one of exports, such as model_dir/export/best");
}

void add_runtime_options(CLI::App& command, RuntimeOptions& runtime) {
  command.add_option("--backend", runtime.backend, "What computes: onednn, reference");
  command.add_option("--threads", runtime.threads, "Compute threads")->check(CLI::PositiveNumber);
}

}  // namespace shoal::cli
