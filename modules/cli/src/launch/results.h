// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collects the results of a job from the reports of its tasks (SHOAL_REPORT_FILE, run.h).
#include <optional>
#include <span>
#include <string>

#include "json_out.h"
#include "shoal/base/storage.h"

namespace shoal::cli::launch {

/// Merges all reports that exist, are JSON objects and report no failure into one object: the metrics of evaluations, the
/// largest global_step and seconds, the sum of examples_per_second.
Json results_of(Storage& storage, std::span<const std::string> report_files);
/// Returns the error sentence of a task's report. Nothing if the report has no failure, or does not exist.
std::optional<std::string> failure_of(Storage& storage, const std::string& report_file);
/// Returns `results`, marked as the results of a job that has failed with this error.
Json failed_results(Json results, const std::string& error);
/// Returns "Evaluated at global step 2000: accuracy 0.9912, loss 0.0271"; empty if no task has evaluated. After an
/// interrupt: "Interrupted at global step 1200; the last evaluation: accuracy 0.97, loss 0.11".
std::string results_text(const Json& results);

}  // namespace shoal::cli::launch
