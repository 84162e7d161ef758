#pragma once
/// Exports as the commands find and open them.
#include <string>

#include "command.h"
#include "shoal/estimator/run_config.h"

namespace shoal::cli {

/// CONTRACT EX-7: a folder of exactly ten digits is an export.
bool is_export_name(std::string_view name);

/// `path` if it is an export, else the newest export in the folder `path`. NotFound if there is none.
Result<std::string> find_export(Storage& storage, const std::string& path);

/// --backend and --threads, for commands that run a model.
void add_runtime_options(CLI::App& command, RuntimeOptions& runtime);

}  // namespace shoal::cli
