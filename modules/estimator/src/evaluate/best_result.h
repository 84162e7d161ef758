// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds the result that a new evaluation has to beat, in the folder of exports and among the results of evaluations that
/// earlier processes wrote (CONTRACT EX-6).
#include <map>
#include <optional>
#include <string>

#include "shoal/estimator/exporter.h"

namespace shoal {

/// How an exporter judges the results of a model_dir.
struct BestRule {
  const std::string& exporter;  ///< Its name begins log lines.
  const CompareMetrics& compare;
  std::string event_folder;  ///< The folder of the evaluations' event files.
};

/// The result that `current` has to beat.
struct ResultToBeat {
  int64_t global_step = 0;
  Metrics metrics;        ///< Its values are float32 numbers, as event files have them.
  bool exported = false;  ///< True: it is that of the newest export. False: it is the best of the history.
};

/// Whether `compare` hangs on a metric of `metrics` that is NaN.
bool compares_nan(const CompareMetrics& compare, const Metrics& metrics);

/// `metrics` rounded to float32, the type of numbers in event files. global_step stays.
Metrics as_recorded(const Metrics& metrics);

/// The history's result at the step of the newest export in request.export_path, else the best of the history; nothing
/// without a history. What the history says of the current step counts only where the newest export is of that step, since
/// the record of the evaluation that is to be judged is there already. Steps that `compare` raises for, because they lack
/// what it compares, and steps for which it compares NaN are passed over, with a line that says so. Raises the errors of
/// the disk.
std::optional<ResultToBeat> result_to_beat(const ExportRequest& request, const BestRule& rule);

}  // namespace shoal
