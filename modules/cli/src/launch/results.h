// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a job found out, out of the reports of its tasks (SHOAL_REPORT_FILE, run.h).
#include <optional>
#include <span>
#include <string>

#include "json_out.h"
#include "shoal/base/storage.h"

namespace shoal::cli::launch {

/// One object of all reports that are there, are JSON objects and tell of no failure: metrics of whoever evaluated, the
/// largest global_step and seconds, the sum of examples_per_second.
Json results_of(Storage& storage, std::span<const std::string> report_files);
/// The sentence of the error that a task's report tells of. None if it tells of no failure, or is not there.
std::optional<std::string> failure_of(Storage& storage, const std::string& report_file);
/// The results of a job that has failed with this error.
Json failed_results(Json results, const std::string& error);
/// "Evaluated at global step 2000: accuracy 0.9912, loss 0.0271"; empty if nobody evaluated. After an
/// interrupt: "Interrupted at global step 1200; the last evaluation: accuracy 0.97, loss 0.11".
std::string results_text(const Json& results);

}  // namespace shoal::cli::launch
