// SPDX-License-Identifier: Apache-2.0
#include "train/spare_folder.h"

#include <algorithm>

#include "shoal/base/durable_folder.h"
#include "shoal/checkpoint/run_file.h"
#include "task/folder_lock.h"
#include "task/temporary_files.h"

namespace shoal {
namespace {

constexpr int kFoldersMax = 1000;  // For each run. More than a few mean that something else makes such folders.

std::string folder_name(const std::string& run, int number) {
  return "run-" + run + (number == 1 ? std::string() : "." + std::to_string(number));
}

/// True for "run-<id>", and for "run-<id>." and digits.
bool is_of_run(std::string_view name, const std::string& run) {
  const std::string first = folder_name(run, 1);
  if (!name.starts_with(first)) return false;
  name.remove_prefix(first.size());
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return name.empty() || (name.size() > 1 && name[0] == '.' && std::ranges::all_of(name.substr(1), digit));
}

/// The step of the newest checkpoint in `folder`, by the list of checkpoints or, if there is no such list, by the names of the
/// indexes; -1 if there is none.
int64_t newest_step(Storage& storage, const std::string& folder) {
  constexpr std::string_view kIndex = ".index";
  const auto list = checkpoint::read_pointer(storage, folder);
  if (list && *list) return checkpoint::step_of((*list)->newest).value_or(-1);
  int64_t newest = -1;
  const auto files = storage.list(folder);
  for (size_t i = 0; files && i < files->size(); ++i) {
    const std::string_view name = (*files)[i].name;
    if (!name.ends_with(kIndex)) continue;
    newest = std::max(newest, checkpoint::step_of(name.substr(0, name.size() - kIndex.size())).value_or(-1));
  }
  return newest;
}

}  // namespace

SpareFolder::SpareFolder(Environment& env, SpareFolderOptions options) : env_(env), options_(std::move(options)) {
  owner_.model_dir = env_.storage().full_path(options_.model_dir);
}

checkpoint::WarningSink SpareFolder::warnings() {
  return [this](const std::string& sentence) { env_.log().warning(sentence); };
}

Result<std::unique_ptr<checkpoint::Reader>> SpareFolder::newer_than(const checkpoint::Reader* newest) {
  if (folder_.empty()) SHOAL_TRY_VOID(choose(newest));
  if (folder_.empty()) return std::unique_ptr<checkpoint::Reader>();
  Result<std::unique_ptr<checkpoint::Reader>> found = checkpoint::latest_intact(env_.storage(), folder_, warnings());
  if (!found) {
    env_.log().warning("the spare folder is left out: " + found.error().message());
    // The error may pass. A checkpoint that training would have gone on from is not overwritten.
    if (look_at(folder_, newest).is_newer) give_up_folder();
  }
  if (!found || !*found || (newest && (*found)->global_step() <= newest->global_step())) {
    return std::unique_ptr<checkpoint::Reader>();
  }
  env_.log().warning("training goes on from the spare folder, whose checkpoint could not be written to " +
                     options_.model_dir);
  return found;
}

/// Sets folder_ to one of the existing folders of this run: the one with the newest checkpoint, among the folders that are for
/// this model_dir. Leaves it empty if there is none.
Result<void> SpareFolder::choose(const checkpoint::Reader* newest) {
  Storage& storage = env_.storage();
  note_listed(checkpoint::SpareOwner::kFollowsMax);
  const Result<std::vector<FileInfo>> entries = storage.list(options_.spare_dir);
  if (!entries) {
    if (entries.error().kind() != ErrorKind::kNotFound) {
      env_.log().warning("the spare folder is left out: " + entries.error().message());
    }
    return {};
  }
  int64_t chosen_step = -1;
  for (const FileInfo& entry : *entries) {
    if (!entry.is_folder || !is_of_run(entry.name, options_.run)) continue;
    const Candidate candidate = look_at(join_path(options_.spare_dir, entry.name), newest);
    if (!folder_.empty() && candidate.step <= chosen_step) continue;
    const Whose whose = whose_is(candidate, newest);
    if (whose == Whose::kOthers) continue;
    Result<std::unique_ptr<StorageLock>> locked = lock_spare_folder(env_, candidate.folder);
    if (!locked && whose == Whose::kOwn && candidate.is_newer) {
      return std::move(locked).error().with_context("the newest checkpoint of " + options_.model_dir +
                                                    " is in the spare folder " + candidate.folder +
                                                    ", which cannot be locked");
    }
    if (!locked) {
      leave_alone(candidate, locked.error().message());
      continue;
    }
    // Another process may have used the folder until this one locked it.
    if (whose_is(look_at(candidate.folder, newest), newest) == Whose::kOthers) continue;
    folder_ = candidate.folder;
    lock_ = std::move(locked).value();
    chosen_step = candidate.step;
  }
  if (folder_.empty() || !look_at(folder_, newest).is_newer) return {};
  // model_dir may lack some of these checkpoints, or not be readable now.
  const auto before = checkpoint::read_spare_owner(storage, folder_);
  if (before && *before) owner_.follows.insert((*before)->follows.begin(), (*before)->follows.end());
  return {};
}

SpareFolder::Candidate SpareFolder::look_at(const std::string& folder, const checkpoint::Reader* newest) const {
  const int64_t step = newest_step(env_.storage(), folder);
  return {.folder = folder, .step = step, .is_newer = step >= 0 && (!newest || step > newest->global_step())};
}

SpareFolder::Whose SpareFolder::whose_is(const Candidate& candidate, const checkpoint::Reader* newest) {
  const auto owner = checkpoint::read_spare_owner(env_.storage(), candidate.folder);
  if (!owner) {
    leave_alone(candidate,
                owner.error().message() + "; if the checkpoint belongs to this model_dir, delete owner.json there");
    return Whose::kOthers;
  }
  if (!*owner) return Whose::kNobodys;
  const bool own = (*owner)->model_dir == owner_.model_dir;
  if (!own && !has_gone((*owner)->model_dir)) {
    leave_alone(candidate, "it belongs to " + (*owner)->model_dir + ", another folder of the same run");
    return Whose::kOthers;
  }
  // This model_dir needs no older checkpoint, and the one that was moved may be on a disk that is away for a while.
  if (!own && candidate.step >= 0 && !candidate.is_newer) return Whose::kOthers;
  if (candidate.is_newer && newest && !(*owner)->follows_on(newest->manifest())) {
    leave_alone(candidate, "it does not go on from " + newest->prefix() +
                               ", which was saved, or saved again, after it was written; to go on from it all the same, "
                               "delete owner.json there");
    return Whose::kOthers;
  }
  return own ? Whose::kOwn : Whose::kNobodys;
}

/// Warns about a folder that stays as it is, if its checkpoint is newer than those of model_dir.
void SpareFolder::leave_alone(const Candidate& candidate, const std::string& why) {
  if (!candidate.is_newer) return;
  env_.log().warning_once("spare folder " + candidate.folder,
                          "the spare folder " + candidate.folder + " has a checkpoint of global step " +
                              std::to_string(candidate.step) + ", newer than those of " + options_.model_dir +
                              "; it stays there, and training goes on without it: " + why);
}

/// True if the model_dir at `path` was moved or removed: its path does not exist, or is a folder of another run. A path that
/// cannot be looked at counts as existing.
bool SpareFolder::has_gone(const std::string& path) const {
  const auto run = checkpoint::read_run(env_.storage(), path);
  if (run && *run) return (*run)->id != options_.run;
  return run && !env_.storage().exists(path);
}

Result<void> SpareFolder::claim() {
  Storage& storage = env_.storage();
  const Result<bool> in_place = lock_ ? lock_->is_in_place() : Result<bool>(true);
  if (in_place && !*in_place) give_up_folder();  // Somebody has removed the folder.
  if (folder_.empty()) {
    SHOAL_TRY_VOID(take_free_folder());
  } else {
    SHOAL_TRY_VOID(make_durable_folder(storage, folder_));
  }
  remove_temporary_files(env_, folder_, {"owner.json.tmp-"}, lock_ ? Duration::zero() : Duration(kAbandonedAfter));
  note_listed(1);
  is_empty_ = false;
  return checkpoint::write_spare_owner(storage, folder_, owner_);
}

/// Leaves the folder as it is. The next claim() takes another one.
void SpareFolder::give_up_folder() {
  lock_.reset();
  folder_.clear();
}

Result<void> SpareFolder::take_free_folder() {
  std::optional<Error> first_failure;
  for (int number = 1; number <= kFoldersMax; ++number) {
    const std::string folder = join_path(options_.spare_dir, folder_name(options_.run, number));
    if (env_.storage().exists(folder) && !is_free(folder)) continue;
    SHOAL_TRY_VOID(make_durable_folder(env_.storage(), folder));
    Result<std::unique_ptr<StorageLock>> locked = lock_spare_folder(env_, folder);
    if (!locked) {
      // Another process may have been faster. But if this happens twice, locks cannot be made on this disk now.
      if (first_failure) return *first_failure;
      first_failure = locked.error();
      continue;
    }
    if (!is_free(folder)) continue;
    folder_ = folder;
    lock_ = std::move(locked).value();
    return {};
  }
  return unavailable("the spare folder " + options_.spare_dir + " has " + std::to_string(kFoldersMax) + " folders of run " +
                     options_.run + " that are in use; delete those that are not needed");
}

/// True if `folder` has no checkpoint, and does not belong to another model_dir.
bool SpareFolder::is_free(const std::string& folder) const {
  const auto owner = checkpoint::read_spare_owner(env_.storage(), folder);
  return owner && (!*owner || (*owner)->model_dir == owner_.model_dir) && newest_step(env_.storage(), folder) < 0;
}

/// Adds the newest `count_max` checkpoints that model_dir lists to those that the next spare checkpoint goes on from.
/// Indexes that cannot be read are left out: model_dir_took() has added those that this training wrote.
void SpareFolder::note_listed(size_t count_max) {
  const auto list = checkpoint::read_pointer(env_.storage(), options_.model_dir);
  if (!list || !*list) return;
  std::vector<std::string> names = (*list)->retained;
  std::erase(names, (*list)->newest);
  names.push_back((*list)->newest);
  for (size_t i = names.size() - std::min(names.size(), count_max); i < names.size(); ++i) {
    const auto text = env_.storage().read_all(join_path(options_.model_dir, names[i] + ".index"));
    const auto manifest = text ? checkpoint::decode_manifest(*text) : Result<checkpoint::Manifest>(text.error());
    if (manifest) owner_.add(*manifest);
  }
}

void SpareFolder::model_dir_took(const checkpoint::Manifest& manifest) {
  owner_.add(manifest);
  if (folder_.empty() || is_empty_) return;
  const auto list = checkpoint::read_pointer(env_.storage(), folder_);
  if (!list || (*list && checkpoint::step_of((*list)->newest).value_or(0) > manifest.global_step)) return;
  Result<void> removed = checkpoint::remove_listed(env_.storage(), folder_);
  if (removed) removed = checkpoint::remove_spare_owner(env_.storage(), folder_);
  is_empty_ = bool(removed);
  if (!removed) {
    env_.log().warning_once("spare folder", "the spare folder keeps its checkpoint: " + removed.error().message());
  }
}

}  // namespace shoal
