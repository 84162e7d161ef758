// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collects the results of a job from the reports of its tasks (SHOAL_REPORT_FILE, run.h).
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "json_out.h"
#include "shoal/base/storage.h"

namespace shoal::cli::launch {

/// The results of a job.
struct JobResults {
  Json json = Json::object();               ///< One report for the whole job (docs/formats.md, report.json).
  std::optional<int64_t> trained_step{};    ///< The global step that training has reached, as the leader reports it.
  std::optional<int64_t> evaluated_step{};  ///< The global step of the evaluation whose metrics are in `json`.
};

/// Merges all reports that exist, are JSON objects and report no failure: the metrics of evaluations, the largest
/// global_step and seconds, the sum of examples_per_second. The first of `report_files` is that of the leader, the chief or
/// master. If it exists, the flags, the seed and the version in it are those of the job, and so is its status, unless that
/// is a failure.
JobResults results_of(Storage& storage, std::span<const std::string> report_files);
/// Returns the error sentence of a task's report. Nothing if the report has no failure, or does not exist.
std::optional<std::string> failure_of(Storage& storage, const std::string& report_file);
/// Returns `results`, marked as the results of a job that has failed with this error.
Json failed_results(Json results, const std::string& error);
/// Returns `results`, marked as the results of a job that a signal has ended.
Json interrupted_results(Json results);
/// Returns "Evaluated at global step 2000: accuracy 0.9912, loss 0.0271"; empty if no task has evaluated. After an
/// interrupt: "Interrupted at global step 1200; the last evaluation: accuracy 0.97, loss 0.11".
std::string results_text(const JobResults& results);
/// Returns a sentence if the job is complete and its `evaluator` ended before it evaluated the last global step, as after
/// a signal to the evaluator alone: "global step 2000, where training ended, was not evaluated; ...". Else empty.
std::string unevaluated_text(const JobResults& results, const std::string& evaluator);

}  // namespace shoal::cli::launch
