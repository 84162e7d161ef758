// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/directory.h"

#include <algorithm>

#include "folder.h"

namespace shoal::checkpoint {
namespace {

bool is_missing_or_damaged(const Error& error) {
  return error.kind() == ErrorKind::kNotFound || error.kind() == ErrorKind::kDataLoss;
}

std::string list_is_missing(const std::string& model_dir) {
  return "checkpoint file " + join_path(model_dir, "checkpoint") + " is missing";
}

constexpr std::string_view kTriedByStep = "; the checkpoints in the folder are tried in the order of their steps";

/// Opens the first of the checkpoints `names` that is intact, with a warning for each before it. DataLoss if none is.
Result<std::unique_ptr<Reader>> first_intact(Storage& storage, const std::string& model_dir,
                                             const std::vector<std::string>& names, const WarningSink& warn) {
  std::string newest_error;
  for (const std::string& name : names) {
    Result<std::unique_ptr<Reader>> reader = Reader::open(storage, join_path(model_dir, name));
    Result<void> intact;
    if (reader) intact = (*reader)->verify();
    if (reader && intact) return reader;
    const Error& error = reader ? intact.error() : reader.error();
    if (!is_missing_or_damaged(error)) return error;
    if (newest_error.empty()) newest_error = error.message();
    if (warn) warn("checkpoint " + name + " is passed over: " + error.message());
  }
  return data_loss(model_dir + ": the folder has checkpoints (" + std::to_string(names.size()) +
                   " listed), but none of them is intact; restore them from a copy, or choose another model_dir to start "
                   "over. The newest: " +
                   newest_error);
}

/// The names of the checkpoints that have an index in the folder and no mark of a save that is not complete: newest first.
Result<std::vector<std::string>> complete_by_step(Storage& storage, const std::string& model_dir) {
  std::vector<std::string> names;
  const Result<std::vector<FileInfo>> listing = storage.list(model_dir);
  if (!listing && listing.error().kind() == ErrorKind::kNotFound) return names;
  if (!listing) return listing.error();
  for (const int64_t step : indexed_steps(*listing)) {
    const std::string mark = unlisted_mark(checkpoint_name(step));
    if (std::ranges::find(*listing, mark, &FileInfo::name) == listing->end()) names.push_back(checkpoint_name(step));
  }
  std::ranges::reverse(names);
  return names;
}

/// Returns the names of the checkpoints from which training may resume, in the order in which to try them: newest first. If
/// the `checkpoint` file is missing or damaged, the names come from the folder's listing.
Result<std::vector<std::string>> candidates(Storage& storage, const std::string& model_dir, const WarningSink& warn) {
  Result<std::optional<PointerFile>> pointer = read_pointer(storage, model_dir);
  if (!pointer && pointer.error().kind() != ErrorKind::kDataLoss) return std::move(pointer).error();
  std::vector<std::string> names;
  if (pointer && *pointer) {
    names = (*pointer)->retained;
    // The first line of the `checkpoint` file names the newest checkpoint. The lines after it list all that are kept. Moves
    // the newest one to the end of `names`, since it may be anywhere in that list.
    std::erase(names, (*pointer)->newest);
    names.push_back((*pointer)->newest);
  } else {
    Result<std::vector<FileInfo>> listing = storage.list(model_dir);
    if (!listing && listing.error().kind() == ErrorKind::kNotFound) return names;
    if (!listing) return std::move(listing).error();
    for (int64_t step : indexed_steps(*listing)) names.push_back(checkpoint_name(step));
    if (!pointer && names.empty()) return std::move(pointer).error();
    if (!names.empty() && warn) {
      warn((pointer ? list_is_missing(model_dir) : pointer.error().message()) + std::string(kTriedByStep));
    }
  }
  std::reverse(names.begin(), names.end());
  return names;
}

}  // namespace

Result<std::unique_ptr<Reader>> open_latest(Storage& storage, const std::string& model_dir) {
  constexpr int kTries = 100;  // In case other tasks delete checkpoints faster than this one opens them.
  std::string before;
  for (int tries = 1;; ++tries) {
    SHOAL_TRY(const std::optional<PointerFile> pointer, read_pointer(storage, model_dir));
    if (!pointer) return std::unique_ptr<Reader>();
    auto reader = Reader::open(storage, join_path(model_dir, pointer->newest));
    const bool missing = !reader && reader.error().kind() == ErrorKind::kNotFound;
    if (!missing || pointer->newest == before || tries == kTries) return reader;
    before = pointer->newest;
  }
}

Result<std::optional<std::string>> latest(Storage& storage, const std::string& model_dir) {
  SHOAL_TRY(const std::unique_ptr<Reader> reader, open_latest(storage, model_dir));
  return reader ? std::optional(reader->prefix()) : std::nullopt;
}

Result<std::unique_ptr<Reader>> latest_intact(Storage& storage, const std::string& model_dir, const WarningSink& warn) {
  SHOAL_TRY(const std::vector<std::string> names, candidates(storage, model_dir, warn));
  if (names.empty()) return std::unique_ptr<Reader>();
  return first_intact(storage, model_dir, names, warn);
}

Result<std::unique_ptr<Reader>> open_newest(Storage& storage, const std::string& model_dir, const WarningSink& warn) {
  auto listed = open_latest(storage, model_dir);
  if (!listed || *listed) return listed;
  SHOAL_TRY(const std::vector<std::string> names, complete_by_step(storage, model_dir));
  if (names.empty()) return std::unique_ptr<Reader>();
  // A first save may have made the file since it was found missing.
  SHOAL_TRY(const std::optional<PointerFile> pointer, read_pointer(storage, model_dir));
  if (pointer) return open_latest(storage, model_dir);
  if (warn) warn(list_is_missing(model_dir) + std::string(kTriedByStep));
  return first_intact(storage, model_dir, names, warn);
}

Result<std::optional<std::string>> newest(Storage& storage, const std::string& model_dir, const WarningSink& warn) {
  SHOAL_TRY(const std::unique_ptr<Reader> reader, open_newest(storage, model_dir, warn));
  return reader ? std::optional(reader->prefix()) : std::nullopt;
}

Result<std::vector<ListedCheckpoint>> list(Storage& storage, const std::string& model_dir, Check check) {
  SHOAL_TRY(const std::optional<PointerFile> pointer, read_pointer(storage, model_dir));
  std::vector<ListedCheckpoint> checkpoints;
  if (!pointer) return checkpoints;
  for (const std::string& name : pointer->retained) {
    ListedCheckpoint& entry = checkpoints.emplace_back();
    entry.name = name;
    entry.global_step = *step_of(name);
    entry.newest = name == pointer->newest;
    const std::string prefix = join_path(model_dir, name);
    const Result<std::unique_ptr<Reader>> reader = Reader::open(storage, prefix);
    if (!reader) {
      entry.damage = reader.error();
      continue;
    }
    const Manifest& manifest = (*reader)->manifest();
    entry.bytes = manifest.data_bytes() + encode_manifest(manifest).size();
    entry.save_time = manifest.info.save_time;
    if (check != Check::kChecksums) continue;
    if (const Result<void> intact = (*reader)->verify(); !intact) entry.damage = intact.error();
  }
  return checkpoints;
}

void remove_unfinished(Storage& storage, const std::string& model_dir) {
  const Result<std::vector<FileInfo>> listing = storage.list(model_dir);
  Result<std::optional<PointerFile>> pointer = read_pointer(storage, model_dir);
  if (!listing || !pointer) return;
  remove_unfinished_files(storage, model_dir,
                          {.listing = *listing, .pointer = std::move(*pointer), .now = {}, .held = true});
}

Result<void> remove_listed(Storage& storage, const std::string& folder) {
  SHOAL_TRY(const std::optional<PointerFile> pointer, read_pointer(storage, folder));
  if (!pointer) return {};
  SHOAL_TRY(const std::vector<FileInfo> listing, storage.list(folder));
  // The `checkpoint` file goes first: a list of deleted checkpoints would count as damage.
  SHOAL_TRY_VOID(storage.remove(join_path(folder, "checkpoint")));
  for (const std::string& name : pointer->retained) remove_checkpoint(storage, folder, listing, name, nullptr);
  return {};
}

Result<void> verify(Storage& storage, const std::string& prefix) {
  SHOAL_TRY(const std::unique_ptr<Reader> reader, Reader::open(storage, prefix));
  return reader->verify();
}

}  // namespace shoal::checkpoint
