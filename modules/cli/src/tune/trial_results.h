// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a trial leaves: its results, its last words, its exports.
#include <optional>
#include <string>

#include "shoal/base/storage.h"

namespace shoal::cli::tune {

struct TrialReport {
  bool interrupted = false;       ///< A signal has ended the program before its time.
  std::optional<double> value{};  ///< The metric that was asked for.
  int64_t step = 0;               ///< The global step.
  std::string metrics{};          ///< The names of the metrics that there are: "accuracy, auc, loss".
};
/// Reads a report that a program has written to SHOAL_REPORT_FILE. Nothing if there is none that can be read.
std::optional<TrialReport> read_report(Storage& storage, const std::string& file, const std::string& metric);

/// The last error in the log of a trial, without what stands before it in its line; else its last line; empty for an empty log.
std::string last_words(Storage& storage, const std::string& log);

/// The newest of all exports in a trial's folder, "DIR/trials/0007/export/best/1700000000"; nothing if there is none.
std::optional<std::string> newest_export(Storage& storage, const std::string& trial_folder);

}  // namespace shoal::cli::tune
