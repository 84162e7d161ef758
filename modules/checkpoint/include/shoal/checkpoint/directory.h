// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The checkpoints of a folder: which is the newest, which are retained, which are intact.
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

/// Contents of the text file `checkpoint` (TensorFlow's form, names relative to the folder):
///   model_checkpoint_path: "model.ckpt-5"
///   all_model_checkpoint_paths: "model.ckpt-0"
///   all_model_checkpoint_paths: "model.ckpt-5"
struct PointerFile {
  std::string newest;
  std::vector<std::string> retained;  ///< Names, oldest to newest.
  bool lists(std::string_view name) const { return std::ranges::find(retained, name) != retained.end(); }
  friend bool operator==(const PointerFile&, const PointerFile&) = default;
};
std::string encode_pointer(const PointerFile& pointer);
/// DataLoss names the line that is no such line. Lines of other keys are skipped.
Result<PointerFile> decode_pointer(std::string_view text);
/// Reads that file. Nothing if the folder or the file does not exist.
Result<std::optional<PointerFile>> read_pointer(Storage& storage, const std::string& model_dir);

/// The newest checkpoint's prefix ("m/model.ckpt-200"): what the `checkpoint` file says (CONTRACT CK-6). Nothing if there
/// is no such file. NotFound if it names files that are missing, DataLoss if it or the index is damaged: evaluation and
/// export log that error and have no newest checkpoint. Compares lengths, not the data's checksums.
Result<std::optional<std::string>> latest(Storage& storage, const std::string& model_dir);

/// The checkpoint from which training resumes: the newest one, or, with a warning for each that is passed over, the next
/// older listed one of which every checksum is right (CONTRACT CK-7). Null if the folder never had a checkpoint.
/// DataLoss if it had, and none is intact: training must not start over by itself. Where the `checkpoint` file is missing
/// but checkpoints are there, they are taken by step, with a warning.
Result<std::unique_ptr<Reader>> latest_intact(Storage& storage, const std::string& model_dir, const WarningSink& warn);

struct ListedCheckpoint {
  std::string name;
  int64_t global_step = 0;
  bool newest = false;
  uint64_t bytes = 0;           ///< Bytes of index and data. 0 if the index cannot be read.
  WallTime save_time{};         ///< The index says it. 1970 if that cannot be read.
  std::optional<Error> damage;  ///< What is wrong with it. Nothing: it is intact.
};
enum class Check { kLengths, kChecksums };
/// The retained checkpoints, oldest to newest, damaged ones too. Empty if there is no `checkpoint` file.
Result<std::vector<ListedCheckpoint>> list(Storage& storage, const std::string& model_dir, Check check);

/// For who holds the folder: removes at once what killed saves left in it, which are temporary files, data files of which no
/// index speaks, and checkpoints marked as unlisted that are not in the list (CONTRACT CK-18). Without its lock nobody knows
/// whether another process is writing these: then saves remove them when they are an hour old. What cannot be removed
/// stays.
void remove_unfinished(Storage& storage, const std::string& model_dir);

/// Removes the retained checkpoints and the list. NotFound is no error: there are none.
Result<void> remove_listed(Storage& storage, const std::string& folder);

/// Opens and reads all of it: every checksum right, or the first error.
Result<void> verify(Storage& storage, const std::string& prefix);

}  // namespace shoal::checkpoint
