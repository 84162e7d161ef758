// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The mark that a clean end of training leaves in model_dir: the file `training_finished` (CONTRACT JE-2). Evaluators and
/// tools end by it; the start of a training run removes it first.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/storage.h"

namespace shoal::checkpoint {

enum class EndReason : uint8_t { kMaxSteps, kEndOfInput, kStopRequested, kInterrupted };
/// "max_steps", "end_of_input", "stop_requested", "interrupted".
std::string_view to_string(EndReason reason);

struct EndMark {
  /// The run's number in this model_dir (run_count.h). 0: not known, as in marks of older versions.
  int64_t run = 0;
  int64_t global_step = 0;
  /// The name of the last checkpoint ("model.ckpt-200"). Empty if checkpoints are off.
  std::string checkpoint;
  EndReason reason = EndReason::kMaxSteps;
  WallTime wall_time{};  ///< Kept to the microsecond.
  /// What a launcher calls the run: SHOAL_RUN of the process that wrote the mark; empty if it has none.
  std::string shoal_run = {};
  friend bool operator==(const EndMark&, const EndMark&) = default;
};

/// Writes it by temporary file and rename: a reader sees all of it or nothing. Unavailable names path and cause.
Result<void> write_end_mark(Storage& storage, const std::string& model_dir, const EndMark& mark);
/// Reads the end mark. Nothing if there is none. DataLoss if the file is no end mark.
Result<std::optional<EndMark>> read_end_mark(Storage& storage, const std::string& model_dir);
/// Fine if there is none.
Result<void> remove_end_mark(Storage& storage, const std::string& model_dir);

/// JSON of one line:
/// {"run":1,"global_step":200,"checkpoint":"model.ckpt-200","reason":"max_steps","wall_time":1700000000.25,
/// "shoal_run":"a7"}, the last only if there is one. `run` may be missing. Also what a chief sends to an evaluator that
/// has no shared disk.
std::string encode_end_mark(const EndMark& mark);
Result<EndMark> decode_end_mark(std::string_view text);

}  // namespace shoal::checkpoint
