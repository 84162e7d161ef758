// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The folder within RunConfigOptions::spare_dir that has the newest checkpoint while model_dir cannot be written to.
#include <memory>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/spare_owner.h"

namespace shoal {

struct SpareFolderOptions {
  std::string spare_dir;  ///< RunConfigOptions::spare_dir.
  std::string run;        ///< The id of the run (checkpoint::RunFile::id).
  std::string model_dir;
};

/// The spare folder of one model_dir: `run-<id>` within spare_dir or, if that is not for this model_dir, `run-<id>.2` and so
/// on. A copied model_dir has the same run id, so the file owner.json in the folder says whose it is
/// (checkpoint/spare_owner.h). A folder is for this model_dir if
///   - owner.json names this model_dir (Storage::full_path()); or
///   - the path that owner.json names does not exist, or is a folder of another run, so that this model_dir was moved; or
///   - there is no owner.json, as in spare folders of older versions.
/// If the folder has owner.json and a newer checkpoint than model_dir, the newest checkpoint of model_dir must also be one
/// that the one in the folder goes on from: otherwise model_dir has been trained or replaced since. A folder whose owner was
/// moved is for this model_dir only if its checkpoint is newer, or if it has none. If owner.json is damaged, the folder is for
/// nobody. Folders that are not for this model_dir are neither written to nor deleted from; if
/// such a folder has a newer checkpoint than model_dir, a warning says so. Once a start finds that model_dir has a
/// checkpoint of the same or a later step, the one in its spare folder is of no use, and is deleted after the next save.
///
/// This object locks the folder that it uses (the file spare_lock) until it is destroyed. All functions but folder() block,
/// so call them on the compute thread.
class SpareFolder {
 public:
  SpareFolder(Environment& env, SpareFolderOptions options);

  /// Opens the checkpoint in this model_dir's spare folder if it is newer than `newest`, the newest one in model_dir (null:
  /// none can be read). Otherwise returns null. Errors of the spare folder are only warnings, since model_dir may have all
  /// that training needs. One is an error: Unavailable if owner.json names this model_dir, the checkpoint is newer, and the
  /// folder cannot be locked. A start without that checkpoint would lose it.
  Result<std::unique_ptr<checkpoint::Reader>> newer_than(const checkpoint::Reader* newest);

  /// Called before each write to the spare folder: makes and locks the folder, and durably writes owner.json. Afterwards
  /// folder() is where the checkpoint goes.
  Result<void> claim();
  /// The folder that this model_dir uses; empty: none yet.
  const std::string& folder() const { return folder_; }

  /// Called after model_dir has got the checkpoint of `manifest`: removes the one in the spare folder. A checkpoint of a
  /// later step stays: training would have gone on from it, had it been readable.
  void model_dir_took(const checkpoint::Manifest& manifest);

 private:
  enum class Whose {
    kOthers,
    kNobodys,  // It has no owner.json, or its owner was moved, so this model_dir may take it.
    kOwn,
  };
  /// A folder of this run within spare_dir.
  struct Candidate {
    std::string folder;
    int64_t step = -1;      // The step of its newest checkpoint; -1: it has none.
    bool is_newer = false;  // True if that is newer than the newest checkpoint in model_dir.
  };
  Candidate look_at(const std::string& folder, const checkpoint::Reader* newest) const;
  Result<void> choose(const checkpoint::Reader* newest);
  Whose whose_is(const Candidate& candidate, const checkpoint::Reader* newest);
  bool has_gone(const std::string& path) const;
  void give_up_folder();
  Result<void> take_free_folder();
  bool is_free(const std::string& folder) const;
  void note_listed(size_t count_max);
  void leave_alone(const Candidate& candidate, const std::string& why);
  checkpoint::WarningSink warnings();

  Environment& env_;
  const SpareFolderOptions options_;
  checkpoint::SpareOwner owner_;  // What this object writes to owner.json.
  std::string folder_;
  std::unique_ptr<StorageLock> lock_;  // Null if the file system has no locks.
  bool is_empty_ = false;              // True if it is certain that the folder has no checkpoint.
};

}  // namespace shoal
