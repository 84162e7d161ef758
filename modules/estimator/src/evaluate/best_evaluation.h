// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The evaluations that a folder's event files tell of, and the best of them.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/estimator/metrics.h"

namespace shoal {

struct PastEvaluations {
  std::map<int64_t, Metrics> by_step;  ///< Float32 numbers, as event files have them, and global_step.
  std::vector<Error> damage;           ///< The files that end in damage, whose later records are missing here.
};

/// Reads the event files of `folder`, but for the results at the step `without`. The records of one evaluation end with the text
/// `checkpoint_path`, by which they are told from numbers that other programs write into the folder. If no such text is there, all
/// numbers count: another program may have written the whole history.
Result<PastEvaluations> read_evaluations(Storage& storage, const std::string& folder, std::optional<int64_t> without = {});

/// The evaluation with the lowest loss in the event files of `folder`, the first of those that are equal; `last` itself where
/// that is it, whose numbers are exact. Empty if no evaluation has a number for its loss. Evaluations that cannot be read are
/// passed over: this is for a report, which no training waits for. `last` may be empty.
Metrics best_evaluation(Storage& storage, const std::string& folder, const Metrics& last);

}  // namespace shoal
