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
  std::map<int64_t, Metrics> by_step;  ///< By global step: metrics (float32, as in event files) and global_step.
  /// One error for each damaged file; by_step lacks the records that follow the damage.
  std::vector<Error> damage;
};

/// Reads the evaluations in the event files of `folder`, except those at the step `without`. Shoal ends the records of an
/// evaluation with the text `checkpoint_path`. Numbers without that text come from other programs and are left out. But if
/// no file has such a text, all numbers are taken, because another program may have written all files.
Result<PastEvaluations> read_evaluations(Storage& storage, const std::string& folder, std::optional<int64_t> without = {});

/// Returns the evaluation with the lowest loss among `last` and those in the event files of `folder`; of equal losses, that
/// of the earliest step. `last` may be empty. Its numbers are exact, so they replace those that the files have for the same
/// step. Empty if no loss is a number. Skips evaluations that cannot be read, because only reports need the result.
Metrics best_evaluation(Storage& storage, const std::string& folder, const Metrics& last);

}  // namespace shoal
