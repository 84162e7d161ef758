// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Carries out a search: follows the policy of tuning::Tuner with processes, files and signals.
#include "command.h"
#include "tune/tune_options.h"

namespace shoal::cli::tune {

/// Runs until the search is done or a signal has ended it. Returns the exit status of print_results(); if that is 0 and the
/// results could not be written, the status of that error. An error says that the folder holds
/// another search, that another process searches in it, that the journal is damaged or cannot be written, that the folder
/// was removed while the search ran, that the program does not exist, or that the machine lacks what a trial needs to start
/// (Unavailable). After such an error the same search can continue, and no trial has failed because of it.
Result<int> run_search(Context& context, const TuneOptions& options);

}  // namespace shoal::cli::tune
