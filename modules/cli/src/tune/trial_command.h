// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The command line of a trial.
#include <string>
#include <vector>

#include "launch/job_tasks.h"
#include "tune/tune_options.h"

namespace shoal::cli::tune {

/// InvalidArgument if the program's command has a flag that the search sets (--model-dir, or the flag of a parameter), or
/// if a parameter has the name of a flag that the search sets.
Result<void> check_program(const std::vector<std::string>& program, const tuning::Space& space);

/// The folder of a trial: "DIR/trials/0007".
std::string trial_folder(const TuneOptions& options, int64_t trial);
/// Returns the path to which the program of a trial writes its results.
std::string report_file(const TuneOptions& options, int64_t trial);

/// Returns the program and its arguments, followed by the trial's parameters, its folder, threads and steps, and the
/// interval of evaluations if trials may be ended early. Threads, steps and checkpoints that the user's command sets stay
/// as they are.
std::vector<std::string> trial_words(const TuneOptions& options, const tuning::Trial& trial);
/// Returns SHOAL_TRIAL and SHOAL_REPORT_FILE. The file's path is absolute, since the program may change its working folder.
std::vector<launch::Variable> trial_variables(Storage& storage, const TuneOptions& options, int64_t trial);

}  // namespace shoal::cli::tune
