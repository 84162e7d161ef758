// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The results of a run. Programs print them (--json) and write them to the file that SHOAL_REPORT_FILE names, and to
/// `report.json` in model_dir (docs/formats.md describes the JSON).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/estimator/metrics.h"
#include "shoal/estimator/params.h"

namespace shoal {

enum class ExperimentStatus : uint8_t {
  kComplete,  ///< Training has ended by itself: at its last step, at the end of its input, or by a hook.
  /// A signal, or a stop request on RunConfigOptions::stop, ended training. The same command goes on from the newest
  /// checkpoint.
  kInterrupted,
  kFailed,  ///< The program ended with an error.
};
/// Returns "complete", "interrupted" or "failed".
std::string_view to_string(ExperimentStatus status);

/// Fields whose values are not known are empty, such as the metrics in a task that does not evaluate.
struct ExperimentReport {
  ExperimentStatus status = ExperimentStatus::kComplete;
  std::string error = {};  ///< The error message, if the status is kFailed.
  /// The program's own flags, and "steps", "batch" and "data-dir", as the program saw them. If nothing was left to train, they
  /// are those of the start that trained, and so are `seed` and `version`.
  Params parameters = {};
  Metrics metrics = {};  ///< Metrics of the last evaluation made by this start of the program.
  /// Metrics and global_step of the last evaluation of the run, which an earlier start or another task may have made.
  /// Numbers that were read from event files have the precision of float32.
  Metrics last = {};
  Metrics best = {};  ///< Like `last`, but for the evaluation with the lowest loss; empty if no loss is a number.
  std::optional<uint64_t> global_step = {};
  std::optional<double> examples_per_second = {};  ///< Examples per second of all trainers of this process.
  std::optional<double> seconds = {};              ///< The duration of training in this start of the program.
  std::string model_dir = {};
  std::string export_path = {};  ///< The newest export below model_dir.
  std::optional<int64_t> seed = {};
  std::optional<std::string> trial = {};  ///< RunConfig::trial().
  std::string version = {};               ///< The version of Shoal.

  /// The report as one line of JSON without a line break. In texts that are not valid UTF-8, such as names of folders,
  /// U+FFFD replaces the invalid bytes.
  std::string to_json() const;
};

}  // namespace shoal
