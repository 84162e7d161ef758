// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds the checkpoints of a folder: the newest, the retained ones, the intact ones.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/checkpoint/writer.h"

namespace shoal::checkpoint {

/// Contents of the text file `checkpoint`, in TensorFlow's form, with names relative to the folder:
///   model_checkpoint_path: "model.ckpt-5"
///   all_model_checkpoint_paths: "model.ckpt-0"
///   all_model_checkpoint_paths: "model.ckpt-5"
struct PointerFile {
  std::string newest;
  std::vector<std::string> retained;  ///< Names of all checkpoints that the file lists, oldest to newest.
  bool lists(std::string_view name) const { return std::ranges::find(retained, name) != retained.end(); }
  friend bool operator==(const PointerFile&, const PointerFile&) = default;
};
std::string encode_pointer(const PointerFile& pointer);
/// Reads the file's text. DataLoss names a line that is malformed. Lines with other keys are skipped.
Result<PointerFile> decode_pointer(std::string_view text);
/// Reads the `checkpoint` file of `model_dir`. Nothing if the folder or the file does not exist.
Result<std::optional<PointerFile>> read_pointer(Storage& storage, const std::string& model_dir);

/// Opens the newest checkpoint, which is the one that the `checkpoint` file names, not the one with the largest number or the
/// latest time. Null if there is no such file. NotFound if it names files that are missing, DataLoss if it or the index is
/// damaged. Compares the lengths of the data files, but not their checksums. If another task deletes the checkpoint before it
/// is opened, since it has written newer ones, the newest of those is opened.
Result<std::unique_ptr<Reader>> open_latest(Storage& storage, const std::string& model_dir);
/// The prefix of the checkpoint that open_latest() opens ("m/model.ckpt-200"); nothing if there is none. Errors: the same.
Result<std::optional<std::string>> latest(Storage& storage, const std::string& model_dir);

/// The checkpoint from which training resumes: the newest one, if all its checksums are right; else the next older listed
/// one that is intact, with a warning for each that is skipped. Null if the folder never had a checkpoint. DataLoss if it
/// had some and none is intact, since training must not start over by itself. If the `checkpoint` file is missing or
/// damaged, the checkpoints found in the folder are tried in the order of their steps, with a warning.
Result<std::unique_ptr<Reader>> latest_intact(Storage& storage, const std::string& model_dir, const WarningSink& warn);

/// Opens the checkpoint that evaluation, prediction and export use: as open_latest(), but where the `checkpoint` file is
/// missing, the newest intact one of those found in the folder, with the warning of latest_intact(). Checkpoints that a save
/// has not listed yet do not count: before its first save is complete, a training has no checkpoint. Null if there is none.
Result<std::unique_ptr<Reader>> open_newest(Storage& storage, const std::string& model_dir, const WarningSink& warn);

/// Returns the prefix of the checkpoint that open_newest() opens; nothing if there is none.
Result<std::optional<std::string>> newest(Storage& storage, const std::string& model_dir, const WarningSink& warn);

struct ListedCheckpoint {
  std::string name;
  int64_t global_step = 0;
  bool newest = false;
  uint64_t bytes = 0;           ///< Bytes of index and data. 0 if the index cannot be read.
  WallTime save_time{};         ///< The time that the index states. 1970 if the index cannot be read.
  std::optional<Error> damage;  ///< Describes the damage. Nothing: the checkpoint is intact.
};
enum class Check { kLengths, kChecksums };
/// Returns the checkpoints that the `checkpoint` file lists, oldest to newest. Damaged ones are included. Empty if there is
/// no such file.
Result<std::vector<ListedCheckpoint>> list(Storage& storage, const std::string& model_dir, Check check);

/// Removes at once what killed saves left in the folder: temporary files, data files that no index names, and checkpoints
/// with an `.unlisted` file that are not in the list. Only for the process that has the lock of `model_dir`. Without the
/// lock another process may be writing these files; saves then remove them when they are an hour old. Files that cannot be
/// removed stay.
void remove_unfinished(Storage& storage, const std::string& model_dir);

/// Removes the retained checkpoints and the `checkpoint` file. No error if there are none.
Result<void> remove_listed(Storage& storage, const std::string& folder);

/// Reads a whole checkpoint and compares every checksum. Returns the first error.
Result<void> verify(Storage& storage, const std::string& prefix);

}  // namespace shoal::checkpoint
