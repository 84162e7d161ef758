#include "folder.h"

#include <algorithm>
#include <optional>
#include <set>

namespace shoal::checkpoint {
namespace {

/// A file name taken apart: "model.ckpt-5" and "data-00000-of-00001".
struct Parts {
  int64_t step = 0;
  std::string_view rest;
};

std::optional<Parts> parts_of(std::string_view file_name) {
  const size_t dash = file_name.find('-');
  const size_t dot = dash == std::string_view::npos ? dash : file_name.find('.', dash);
  if (dot == std::string_view::npos) return std::nullopt;
  const std::optional<int64_t> step = step_of(file_name.substr(0, dot));
  if (!step) return std::nullopt;
  return Parts{*step, file_name.substr(dot + 1)};
}

}  // namespace

std::vector<std::string> files_of(const std::vector<FileInfo>& listing, std::string_view name) {
  std::vector<std::string> files;
  for (const FileInfo& file : listing) {
    const std::optional<Parts> parts = parts_of(file.name);
    if (file.is_folder || !parts || checkpoint_name(parts->step) != name) continue;
    files.insert(parts->rest == "index" ? files.begin() : files.end(), file.name);
  }
  return files;
}

std::vector<int64_t> indexed_steps(const std::vector<FileInfo>& listing) {
  std::vector<int64_t> steps;
  for (const FileInfo& file : listing) {
    const std::optional<Parts> parts = parts_of(file.name);
    if (!file.is_folder && parts && parts->rest == "index") steps.push_back(parts->step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

void remove_leftovers(Storage& storage, const std::string& model_dir, const std::vector<FileInfo>& listing) {
  const std::vector<int64_t> indexed = indexed_steps(listing);
  for (const FileInfo& file : listing) {
    const std::optional<Parts> parts = parts_of(file.name);
    if (!file.is_folder && file.name.starts_with("checkpoint.tmp-")) {  // Storage::write_atomically(), killed
      (void)storage.remove(join_path(model_dir, file.name));
    }
    if (file.is_folder || !parts) continue;
    const bool temporary = parts->rest.ends_with(".tmp");
    const bool orphan = parts->rest.starts_with("data-") && !std::binary_search(indexed.begin(), indexed.end(), parts->step);
    // Failure is no matter: nothing refers to these files, and the next save tries again.
    if (temporary || orphan) (void)storage.remove(join_path(model_dir, file.name));
  }
}

void remove_checkpoint(Storage& storage, const std::string& model_dir, const std::vector<FileInfo>& listing,
                       std::string_view name, const WarningSink& warn) {
  for (const std::string& file : files_of(listing, name)) {
    const Result<void> removed = storage.remove(join_path(model_dir, file));
    if (!removed && removed.error().kind() != ErrorKind::kNotFound && warn) {
      warn("old checkpoint " + std::string(name) + " could not be deleted: " + removed.error().message());
    }
  }
}

}  // namespace shoal::checkpoint
