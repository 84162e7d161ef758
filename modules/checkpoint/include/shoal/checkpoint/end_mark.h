// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The end mark: the file `training_finished` that a clean end of training leaves in model_dir. Evaluators and tools end
/// when they see the file. The next start of training in the folder removes it first.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/storage.h"

namespace shoal::checkpoint {

enum class EndReason : uint8_t { kMaxSteps, kEndOfInput, kStopRequested, kInterrupted };
/// Returns "max_steps", "end_of_input", "stop_requested" or "interrupted".
std::string_view to_string(EndReason reason);

struct EndMark {
  /// The number of the start in this model_dir (run_count.h). 0: not known, as in end marks of older versions.
  int64_t run = 0;
  int64_t global_step = 0;
  /// The name of the last checkpoint ("model.ckpt-200"). Empty if checkpoints are off.
  std::string checkpoint;
  EndReason reason = EndReason::kMaxSteps;
  WallTime wall_time{};  ///< When the end mark was written. The file states it to the microsecond.
  /// The launcher's name for the start: SHOAL_RUN of the process that wrote the end mark; empty if it had none.
  std::string shoal_run = {};
  friend bool operator==(const EndMark&, const EndMark&) = default;
};

/// Writes the end mark to a temporary file and renames it, so that readers see all of it or nothing. The error is
/// Unavailable, with the path and the cause.
Result<void> write_end_mark(Storage& storage, const std::string& model_dir, const EndMark& mark);
/// Reads the end mark. Nothing if there is none. DataLoss if the file is not an end mark.
Result<std::optional<EndMark>> read_end_mark(Storage& storage, const std::string& model_dir);
/// Removes the end mark. No error if there is none.
Result<void> remove_end_mark(Storage& storage, const std::string& model_dir);

/// Writes an end mark as one line of JSON:
/// {"run":1,"global_step":200,"checkpoint":"model.ckpt-200","reason":"max_steps","wall_time":1700000000.25,
/// "shoal_run":"a7"}. `shoal_run` is left out if it is empty; `run` may be missing in older files. A chief sends the same
/// text to an evaluator that has no shared disk.
std::string encode_end_mark(const EndMark& mark);
Result<EndMark> decode_end_mark(std::string_view text);

}  // namespace shoal::checkpoint
