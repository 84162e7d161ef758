// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Counts the starts of training in a model_dir, from 1, in the file `training_run`. The file that marks the end of training
/// also contains the start's number. But `training_run` counts starts that died without such a mark, too.
#include <cstdint>
#include <string>

#include "shoal/base/storage.h"
#include "shoal/checkpoint/writer.h"

namespace shoal::checkpoint {

/// The number of the newest start, read from the file `training_run` and from the end mark (the file that marks the end of
/// training); 0 if there was no start. If one of the two files is damaged, calls `warn` and uses the other file, since a wrong
/// number is no reason to refuse training. Returns only errors of reading the files.
Result<int64_t> newest_run(Storage& storage, const std::string& model_dir, const WarningSink& warn);

/// Begins a start: writes the number after newest_run() to the file `training_run`, then removes the end mark of the start
/// before, and returns the number. If the process is killed in between, the next start still gets a number of its own.
/// Only for the process that has the lock of `model_dir`. An error of kind Unavailable contains the path and
/// the cause.
Result<int64_t> begin_run(Storage& storage, const std::string& model_dir, const WarningSink& warn);

}  // namespace shoal::checkpoint
