// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Combines a program's own backends and transports with those of its build.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/estimator/plugins.h"
#include "shoal/estimator/run_config.h"

namespace shoal {

/// Checks the entries of `plugins`. InvalidArgument names an entry whose function is empty, whose name is not valid, or
/// whose name an earlier entry has.
Result<void> check_plugins(const Plugins& plugins);

/// The names for --backend and --transport: those of the build and those of `plugins`.
std::vector<std::string> backend_names(const Plugins& plugins);
std::vector<std::string> transport_names(const Plugins& plugins);

/// Adds the transports of `runtime` to `table`. Each replaces the one of the same scheme.
void add_own_transports(TransportTable& table, const std::optional<RuntimeOptions>& runtime);

/// Makes the backend `name`: the program's own one if it exists, else the build's. NotFound lists the existing names.
/// FailedPrecondition if the program's function returns null. If it throws, returns the error of the exception.
Result<std::unique_ptr<backends::Backend>> make_backend(const std::string& name,
                                                        const std::optional<RuntimeOptions>& runtime);

}  // namespace shoal
