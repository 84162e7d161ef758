// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What `shoal tune` was told.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/search/journal.h"
#include "shoal/search/tuner.h"

namespace shoal::cli::tune {

struct TuneOptions {
  std::string folder;           ///< --dir.
  tuning::SearchHeader header;  ///< What makes it this search.
  tuning::TunerOptions tuner;   ///< How it is carried out.
  int64_t threads = 1;          ///< Compute threads of each trial; 0: trials are not told.
  uint64_t memory_bytes = 0;    ///< What all trials together may have resident; 0: any amount.
  std::vector<std::string>
      launch{};  ///< The command that begins each trial as a job, with its options; empty: a trial is one process.
  bool launches_itself =
      false;  ///< True: `launch` launches the program that it belongs to, whose file is left out behind --.
  bool json = false;
  bool quiet = false;
};

}  // namespace shoal::cli::tune
