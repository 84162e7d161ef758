// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the evaluations in the event files of a folder, and finds the best of them.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/estimator/metrics.h"

namespace shoal {

struct PastEvaluations {
  std::map<int64_t, Metrics> by_step;  ///< Float32 numbers, as event files have them, and global_step.
  std::vector<Error> damage;           ///< One error for each damaged file; by_step lacks the records behind the damage.
};

/// Reads the event files of `folder`, except results at the step `without`. The records of one evaluation end with the text
/// `checkpoint_path`; numbers that other programs write into the folder lack it. If no file has such a text, all numbers
/// count, because another program may have written the whole history.
Result<PastEvaluations> read_evaluations(Storage& storage, const std::string& folder, std::optional<int64_t> without = {});

/// Returns the evaluation with the lowest loss in the event files of `folder`, or the first of several equal ones. If that
/// is `last`, returns `last`, whose numbers are exact. Empty if no evaluation has a number for its loss. Skips evaluations
/// that cannot be read, because only reports need the result. `last` may be empty.
Metrics best_evaluation(Storage& storage, const std::string& folder, const Metrics& last);

}  // namespace shoal
