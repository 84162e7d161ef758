// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a run says of itself outside of its events: its parameters, its seed, its versions.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/json/json.h"

namespace shoal::cli::plot {

struct RunFacts {
  /// By name: "flags.batch", "seed", "version", "program", "numerics", "fingerprint"... Values are those of the files.
  std::map<std::string, json::Json> facts;
  std::vector<std::string> complaints;  ///< Sentences about files that are damaged.
};

/// Reads report.json, run.json and the index of the newest checkpoint of `model_dir`; what is not there tells nothing. Errors are those
/// of the file system, save that damage is a complaint.
Result<RunFacts> read_run_facts(Storage& storage, const std::string& model_dir);

/// The flag batch of report.json; nothing if the folder has no report that tells it.
std::optional<double> batch_of(const RunFacts& facts);

}  // namespace shoal::cli::plot
