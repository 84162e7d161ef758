// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Handles the files of a model_dir that belong to checkpoints: finds them by name, removes what killed saves left, deletes
/// checkpoints.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/checkpoint/directory.h"

namespace shoal::checkpoint {

/// The names in `listing` that belong to checkpoint `name`, without temporary files. The index is first and the `.unlisted`
/// file last.
std::vector<std::string> files_of(const std::vector<FileInfo>& listing, std::string_view name);

/// The steps of all checkpoints with an index in `listing`, ascending.
std::vector<int64_t> indexed_steps(const std::vector<FileInfo>& listing);

/// The ending of a file's name while the file is being written: ".tmp-" and a text unique to its writer. Older versions
/// used only ".tmp".
inline constexpr std::string_view kTemporary = ".tmp";

/// The name of the `.unlisted` file: an empty file that says that the checkpoint is to be deleted unless the text file
/// `checkpoint` lists it. A save makes one for the new checkpoint, before its index exists, and one for each checkpoint
/// that it takes off the list to delete it. So if a save is killed, later saves know which checkpoints to delete. A
/// checkpoint that somebody copied into the folder, or that is kept for good, has no such file and stays.
inline std::string unlisted_mark(std::string_view checkpoint) { return std::string(checkpoint) + ".unlisted"; }

/// The contents of a folder, and facts that decide what may be removed from it.
struct FolderState {
  std::vector<FileInfo> listing;
  /// The text file `checkpoint`, which lists the checkpoints that are not to be removed. Nothing if the file is missing:
  /// then all checkpoints stay.
  std::optional<PointerFile> pointer;
  WallTime now;          ///< The present time on the clock of the folder's file system.
  bool held = false;     ///< True if this process has locked the folder: it may remove files of any age.
  /// The ending of the file names of the save in progress: files with this ending are not removed. Empty: no save.
  std::string own = {};
};

/// Removes what killed saves left: temporary files, data files that no index names, and checkpoints with an `.unlisted`
/// file that the text file `checkpoint` does not list. If the folder is not locked, only files untouched for an hour are
/// removed: younger ones may belong to a writer that is still alive, here or on another host. `.unlisted` files of listed
/// checkpoints are removed at once.
void remove_unfinished_files(Storage& storage, const std::string& model_dir, const FolderState& state);

/// Removes the files of checkpoint `name`. The index goes first: without an index the other files are no checkpoint. If a
/// file cannot be removed, calls `warn` and leaves the remaining files, among them the `.unlisted` file, so that a later
/// save tries again.
void remove_checkpoint(Storage& storage, const std::string& model_dir, const std::vector<FileInfo>& listing,
                       std::string_view name, const WarningSink& warn);

}  // namespace shoal::checkpoint
