// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The command line of a trial.
#include <string>
#include <vector>

#include "launch/job_tasks.h"
#include "tune/tune_options.h"

namespace shoal::cli::tune {

/// InvalidArgument if the program's command gives a flag that the search gives: --model-dir, or one that is a parameter; or if a
/// parameter has the name of a flag that the search gives.
Result<void> check_program(const std::vector<std::string>& program, const tuning::Space& space);

/// The folder of a trial: "DIR/trials/0007".
std::string trial_folder(const TuneOptions& options, int64_t trial);
/// Where the program of a trial writes its results.
std::string report_file(const TuneOptions& options, int64_t trial);

/// The program and its arguments, then the parameters, then what else a trial is told: its folder, threads and steps, and for early
/// ends how often to evaluate. What the user's own command says of threads, steps and checkpoints is left as it is.
std::vector<std::string> trial_words(const TuneOptions& options, const tuning::Trial& trial);
/// SHOAL_TRIAL and SHOAL_REPORT_FILE.
std::vector<launch::Variable> trial_variables(const TuneOptions& options, int64_t trial);

}  // namespace shoal::cli::tune
