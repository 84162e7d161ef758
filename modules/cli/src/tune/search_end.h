// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The results of a search: trials.csv, the link to the best trial, and the printed summary.
#include "command.h"
#include "shoal/search/tuner.h"
#include "tune/tune_options.h"

namespace shoal::cli::tune {

/// Writes DIR/trials.csv and DIR/best, the second also if the first fails. Returns the first error.
Result<void> write_results(Storage& storage, const TuneOptions& options, const tuning::Tuner& tuner);

/// Prints a table, the best trial and how to use it, or one object with --json. Returns the exit status: 0; 143 if a signal
/// has ended the search; 1 if no trial has a value (then the error of the first trial is printed).
int print_results(Context& context, const TuneOptions& options, const tuning::Tuner& tuner);

}  // namespace shoal::cli::tune
