// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The trials of a search as tables: for a terminal, and as a CSV file.
#include <string>
#include <vector>

#include "shoal/search/space.h"
#include "shoal/search/tuner.h"
#include "text_table.h"

namespace shoal::cli::tune {

/// Returns the lines of a table: the titles, the best trial, the running trials, then the other trials, better ones first.
/// If the terminal has too few lines, the last line says how many trials are left out.
std::vector<std::string> search_lines(const tuning::Tuner& tuner, TableSize size);

/// Returns all trials in order as CSV (RFC 4180). The columns: trial, state, value, step, seconds, attempts, status, error,
/// and a column "param.NAME" for each parameter of the space, which is empty for trials without the parameter.
std::string trials_csv(const tuning::Tuner& tuner, const tuning::Space& space);

}  // namespace shoal::cli::tune
