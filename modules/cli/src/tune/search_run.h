// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Carries a search out: the policy tuning::Tuner, with processes, files and signals.
#include "command.h"
#include "tune/tune_options.h"

namespace shoal::cli::tune {

/// Runs until the search is done or a signal has ended it. Returns the exit status. Errors: the folder is another search's, or another
/// process searches in it; its journal is damaged or cannot be written; the program does not exist.
Result<int> run_search(Context& context, const TuneOptions& options);

}  // namespace shoal::cli::tune
