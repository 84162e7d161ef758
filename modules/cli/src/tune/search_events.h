// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Describes a search for TensorBoard's page HPARAMS: its parameters with their ranges, and its metric.
#include "shoal/base/result.h"
#include "shoal/search/journal.h"

namespace shoal::cli::tune {

/// Writes an event file into `folder`, the folder of the search, so that TensorBoard shows the trials below it as one
/// experiment. Returns the errors of the disk.
Result<void> write_search_events(const std::string& folder, const tuning::SearchHeader& header);

}  // namespace shoal::cli::tune
