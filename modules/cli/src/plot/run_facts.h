// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the facts of a run that are not in its events: its parameters, its seed, its versions.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/json/json.h"

namespace shoal::cli::plot {

struct RunFacts {
  /// Values from the files, by name: "flags.batch", "seed", "version", "program", "numerics", "fingerprint"...
  std::map<std::string, json::Json> facts;
  std::vector<std::string> complaints;  ///< Sentences about files that are damaged, and whose facts are missing here.
  std::vector<std::string> remarks;     ///< Sentences about a damaged checkpoint in whose place an older one was read.
};

/// Reads report.json, run.json and the index of the newest checkpoint of `model_dir`, or of the newest one that is intact.
/// Missing files are skipped, and a damaged file becomes a complaint. Returns the errors of the file system.
Result<RunFacts> read_run_facts(Storage& storage, const std::string& model_dir);

/// Like read_run_facts(), but reads only report.json.
Result<RunFacts> read_report_facts(Storage& storage, const std::string& model_dir);

/// Compares the flags of the runs. Returns for each run those of its flags that do not have the same value in all runs:
/// "batch 64, dropout 0.2". A run whose flags are not known (it has no report while it trains) is left out of the
/// comparison, and gets an empty text.
std::vector<std::string> differing_flags(const std::vector<RunFacts>& runs);

/// Returns the flag `batch` of report.json; nothing if there is no report with this flag.
std::optional<double> batch_of(const RunFacts& facts);

}  // namespace shoal::cli::plot
