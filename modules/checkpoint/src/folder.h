// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The files of a model_dir that belong to checkpoints: finding them by name, removing what killed saves left, deleting a
/// checkpoint.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/checkpoint/directory.h"

namespace shoal::checkpoint {

/// The names in `listing` that belong to checkpoint `name`: "model.ckpt-5.*" but for temporary ones, the index first and
/// the mark of the unlisted last.
std::vector<std::string> files_of(const std::vector<FileInfo>& listing, std::string_view name);

/// The steps of the indexes in `listing`, ascending.
std::vector<int64_t> indexed_steps(const std::vector<FileInfo>& listing);

/// How the name of a file goes on that is being written: ".tmp-" and what is unique to its writer. Versions before wrote
/// ".tmp".
inline constexpr std::string_view kTemporary = ".tmp";

/// The empty file beside a checkpoint that says: to be deleted, unless the list has it. A save sets it before the index is
/// there, and for what leaves the list; so a checkpoint that a kill left unlisted is told from one that somebody else put
/// there, or that is kept for good.
inline std::string unlisted_mark(std::string_view checkpoint) { return std::string(checkpoint) + ".unlisted"; }

/// What a folder holds, and what it is asked about.
struct FolderState {
  std::vector<FileInfo> listing;
  std::optional<PointerFile> pointer;  ///< Nothing: there is no list, so nothing is known to be unlisted.
  WallTime now;                        ///< The time on the folder's own clock: hosts may disagree about theirs.
  bool held = false;                   ///< True if nobody else writes into the folder: then no time counts.
  std::string own = {};                ///< How the names of temporary files end that are kept. Empty: none are.
};

/// Removes what killed saves left: temporary files, data files of which no index speaks, and checkpoints marked as unlisted
/// that are not in the list; if nobody has touched them for an hour, or the folder is held. Younger ones may be of a writer
/// that lives, here or on another host that has this folder. Marks of listed checkpoints go at once.
void remove_unfinished_files(Storage& storage, const std::string& model_dir, const FolderState& state);

/// Removes the files of checkpoint `name`, index first: from then on it is no checkpoint. A failure is a warning, and the
/// rest stays, with the mark of the unlisted: a later save tries again.
void remove_checkpoint(Storage& storage, const std::string& model_dir, const std::vector<FileInfo>& listing,
                       std::string_view name, const WarningSink& warn);

}  // namespace shoal::checkpoint
