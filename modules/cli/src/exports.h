// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds exports for commands, and adds the options of commands that run a model.
#include <string>

#include "command.h"
#include "shoal/estimator/run_config.h"

namespace shoal::cli {

/// Returns `path` if it is an export, else the newest export in the folder `path`. NotFound if there is none.
Result<std::string> find_export(Storage& storage, const std::string& path);

/// Returns what to name instead of `path`, which has no exports of its own: an error if `path` is an export itself, or if
/// exports are in a folder below, such as path/export/best; nothing if there are none.
Result<void> check_no_exports_near(Storage& storage, const std::string& path);

/// Adds --backend and --threads, for commands that run a model.
void add_runtime_options(arguments::Command& command, RuntimeOptions& runtime);

}  // namespace shoal::cli
