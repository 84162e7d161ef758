// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The options of `shoal tune`.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/search/journal.h"
#include "shoal/search/tuner.h"

namespace shoal::cli::tune {

struct TuneOptions {
  std::string folder;           ///< --dir.
  tuning::SearchHeader header;  ///< The search itself.
  tuning::TunerOptions tuner;   ///< How the search runs its trials.
  int64_t threads = 1;          ///< Compute threads of each trial; 0: the program decides.
  uint64_t memory_bytes = 0;    ///< Resident memory for all trials together; 0: unlimited.
  std::vector<std::string>
      launch{};  ///< The words of the `launch` command that starts each trial as a job; empty: a trial is one process.
  /// True if the `launch` command starts this same program as its tasks, so that it names no program after `--`.
  bool launches_itself = false;
  bool json = false;
  bool quiet = false;
};

}  // namespace shoal::cli::tune
