// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds exports for commands, and adds the options of commands that run a model.
#include <string>

#include "command.h"
#include "shoal/estimator/run_config.h"

namespace shoal::cli {

/// Returns `path` if it is an export, else the newest export in the folder `path`. NotFound if there is none.
Result<std::string> find_export(Storage& storage, const std::string& path);

/// Adds --backend and --threads, for commands that run a model.
void add_runtime_options(arguments::Command& command, RuntimeOptions& runtime);

}  // namespace shoal::cli
