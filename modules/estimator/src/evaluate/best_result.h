// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds the result that a new evaluation has to beat: in the folder of exports, and among the results that earlier
/// processes recorded.
#include <map>
#include <optional>
#include <string>

#include "shoal/estimator/exporter.h"

namespace shoal {

/// How an exporter judges the results of a model_dir.
struct BestRule {
  const std::string& exporter;  ///< The exporter's name, for the beginning of log lines.
  const CompareMetrics& compare;
  std::string event_folder;  ///< The folder of the evaluations' event files.
};

/// The result that `current` has to beat.
struct ResultToBeat {
  int64_t global_step = 0;
  Metrics metrics;        ///< The values are float32 numbers, as in event files.
  bool exported = false;  ///< True: the result of the newest export. False: the best result of the history.
};

/// Whether the outcome of `compare` depends on a metric of `metrics` that is NaN.
bool compares_nan(const CompareMetrics& compare, const Metrics& metrics);

/// `metrics` rounded to float32, the type of numbers in event files. global_step stays exact.
Metrics as_recorded(const Metrics& metrics);

/// Returns the result that the current evaluation has to beat. This is the recorded result at the step of the newest export
/// in request.export_path or, if there is none, the best of all recorded results; nothing if no result was recorded. The
/// current evaluation is recorded already, so results of its step are left out, unless the newest export has that step.
/// Skips steps for which `compare` raises an error or depends on a NaN, and logs that. Raises the errors of the disk.
std::optional<ResultToBeat> result_to_beat(const ExportRequest& request, const BestRule& rule);

}  // namespace shoal
