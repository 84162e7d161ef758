// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Exports as the commands find and open them.
#include <string>

#include "command.h"
#include "shoal/estimator/run_config.h"

namespace shoal::cli {

/// `path` if it is an export, else the export in the folder `path` that has the largest number. NotFound if there is none.
Result<std::string> find_export(Storage& storage, const std::string& path);

/// --backend and --threads, for commands that run a model.
void add_runtime_options(CLI::App& command, RuntimeOptions& runtime);

}  // namespace shoal::cli
