// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a search leaves at its end: trials.csv, the link to the best trial, and the results that it prints.
#include "command.h"
#include "shoal/search/tuner.h"
#include "tune/tune_options.h"

namespace shoal::cli::tune {

/// Writes DIR/trials.csv and DIR/best. Errors: those of writing.
Result<void> write_results(Storage& storage, const TuneOptions& options, const tuning::Tuner& tuner);

/// Prints the results: a table, the best trial and how to use it, or with --json one object. Returns the exit status: 0, 143 for a
/// search that a signal has ended, 1 where no trial has a value, with the sentence of the first one.
int print_results(Context& context, const TuneOptions& options, const tuning::Tuner& tuner);

}  // namespace shoal::cli::tune
