// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Results that a trial leaves in its folder: its report, the last error in its log, its exports.
#include <cstdint>
#include <optional>
#include <string>

#include "shoal/base/storage.h"

namespace shoal::cli::tune {

struct TrialReport {
  bool interrupted = false;       ///< True if a signal ended the program early.
  std::optional<double> value{};  ///< The value of the metric that the search compares.
  int64_t step = 0;               ///< The global step.
  std::string metrics{};          ///< The names of all metrics in the report: "accuracy, auc, loss".
};
/// Reads the report that a program has written to SHOAL_REPORT_FILE. Nothing if there is no readable report. Unavailable if
/// the report may be readable later, for example once this process has descriptors again.
Result<std::optional<TrialReport>> read_report(Storage& storage, const std::string& file, const std::string& metric);

/// Returns the last error in the log of a trial, without the prefix of its line; without an error the last line; empty for
/// an empty log. Ignores the first `begin` bytes of the log.
std::string last_words(Storage& storage, const std::string& log, uint64_t begin);

}  // namespace shoal::cli::tune
