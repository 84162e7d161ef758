// SPDX-License-Identifier: Apache-2.0
#include "folder.h"

#include <algorithm>
#include <map>
#include <set>

namespace shoal::checkpoint {
namespace {

constexpr auto kAbandonedAfter = std::chrono::hours(1);

bool is_abandoned(const FolderState& state, WallTime touched) {
  return state.held || state.now - touched >= kAbandonedAfter;
}

/// The parts of a file name such as "model.ckpt-5.data-00000-of-00001": the step, 5, and `rest`, the text after the dot.
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

bool is_temporary(const Parts& parts) { return parts.rest.find(kTemporary) != std::string_view::npos; }

/// Removes a file that nothing refers to. If that fails, the file does no harm, and the next save tries again.
void try_to_remove(Storage& storage, const std::string& model_dir, const std::string& file) {
  (void)storage.remove(join_path(model_dir, file));
}

/// Removes data files that the index of checkpoint `name` does not list. They were left by a save of the same step that was
/// killed. All data files of one save have the same ending, such as "-of-00002"; those of a second save of this step have a
/// different one, such as "-of-00002.2". So the index is read only if there are at least two endings.
void remove_unnamed_data(Storage& storage, const std::string& model_dir, const std::string& name,
                         const std::vector<std::string>& files) {
  std::set<std::string> endings;
  for (const std::string& file : files) {
    if (const size_t ending = file.find("-of-"); ending != std::string::npos) endings.insert(file.substr(ending));
  }
  if (endings.size() < 2) return;
  const Result<std::string> text = storage.read_all(join_path(model_dir, name + ".index"));
  const Result<Manifest> manifest = text ? decode_manifest(*text) : Result<Manifest>(text.error());
  if (!manifest) return;
  for (const std::string& file : files) {
    const auto named = [&](const DataFile& data) { return data.name == file; };
    const bool is_data = file.starts_with(name + ".data-");
    if (is_data && std::none_of(manifest->files.begin(), manifest->files.end(), named)) {
      try_to_remove(storage, model_dir, file);
    }
  }
}

/// Removes those files of checkpoint `name` that no index and no list of checkpoints needs. `files`: all files of the
/// checkpoint; `touched`: when they were last changed.
void remove_unfinished_files_of(Storage& storage, const std::string& model_dir, const FolderState& state,
                                const std::string& name, const std::vector<std::string>& files, WallTime touched) {
  const auto has = [&](const std::string& file) { return std::find(files.begin(), files.end(), file) != files.end(); };
  const std::string mark = unlisted_mark(name);
  const bool listed = state.pointer && std::find(state.pointer->retained.begin(), state.pointer->retained.end(), name) !=
                                           state.pointer->retained.end();
  if (listed && has(mark)) try_to_remove(storage, model_dir, mark);
  if (!is_abandoned(state, touched)) return;
  if (!has(name + ".index")) {
    for (const std::string& file : files) {
      if (file == mark || file.starts_with(name + ".data-")) try_to_remove(storage, model_dir, file);
    }
  } else if (state.pointer && !listed && has(mark)) {
    remove_checkpoint(storage, model_dir, state.listing, name, {});
  } else {
    remove_unnamed_data(storage, model_dir, name, files);
  }
}

}  // namespace

std::vector<std::string> files_of(const std::vector<FileInfo>& listing, std::string_view name) {
  std::vector<std::string> files;
  for (const FileInfo& file : listing) {
    const std::optional<Parts> parts = parts_of(file.name);
    if (file.is_folder || !parts || checkpoint_name(parts->step) != name || is_temporary(*parts)) continue;
    files.insert(parts->rest == "index" ? files.begin() : files.end(), file.name);
  }
  // The `.unlisted` file is deleted last, because it says that the other files are to be deleted.
  if (const auto mark = std::find(files.begin(), files.end(), unlisted_mark(name)); mark != files.end()) {
    std::rotate(mark, mark + 1, files.end());
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

void remove_unfinished_files(Storage& storage, const std::string& model_dir, const FolderState& state) {
  std::map<std::string, WallTime> touched;  // For each checkpoint, when its files were last changed.
  for (const FileInfo& file : state.listing) {
    if (file.is_folder) continue;
    const std::optional<Parts> parts = parts_of(file.name);
    // Temporary files of data and indexes are named after their checkpoint. A process that was killed while it replaced the
    // text file `checkpoint` (Storage::write_atomically()) has left a file "checkpoint.tmp-...".
    const bool temporary = parts ? is_temporary(*parts) : file.name.starts_with("checkpoint.tmp-");
    const bool own = !state.own.empty() && file.name.ends_with(state.own);
    if (temporary && !own && is_abandoned(state, file.modified)) try_to_remove(storage, model_dir, file.name);
    if (temporary || !parts) continue;
    WallTime& last = touched.try_emplace(checkpoint_name(parts->step), file.modified).first->second;
    last = std::max(last, file.modified);
  }
  for (const auto& [name, last] : touched) {
    remove_unfinished_files_of(storage, model_dir, state, name, files_of(state.listing, name), last);
  }
}

void remove_checkpoint(Storage& storage, const std::string& model_dir, const std::vector<FileInfo>& listing,
                       std::string_view name, const WarningSink& warn) {
  for (const std::string& file : files_of(listing, name)) {
    const Result<void> removed = storage.remove(join_path(model_dir, file));
    if (removed || removed.error().kind() == ErrorKind::kNotFound) continue;
    if (warn) warn("old checkpoint " + std::string(name) + " could not be deleted: " + removed.error().message());
    return;
  }
}

}  // namespace shoal::checkpoint
