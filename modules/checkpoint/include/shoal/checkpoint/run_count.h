// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The training runs of a model_dir, counted from 1: the file `training_run` (CONTRACT JE-2). The end mark of a run carries
/// its number; the file remembers it also where a run died and left no mark.
#include <cstdint>
#include <string>

#include "shoal/base/storage.h"
#include "shoal/checkpoint/writer.h"

namespace shoal::checkpoint {

/// The number of the newest run that `model_dir` knows of, by the file and by the end mark; 0: none. Where one of the two
/// is damaged, `warn` is told, and the other counts: a number is no reason to refuse training. Errors: those of reading.
Result<int64_t> newest_run(Storage& storage, const std::string& model_dir, const WarningSink& warn);

/// A training run starts: gives it the number after newest_run(), writes that down, then removes the end mark. Killed in
/// between, the next run has a number of its own all the same. Only for who holds the folder. Unavailable names path and
/// cause.
Result<int64_t> begin_run(Storage& storage, const std::string& model_dir, const WarningSink& warn);

}  // namespace shoal::checkpoint
