// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a program's own backends and transports mean beside those of its build.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/estimator/plugins.h"
#include "shoal/estimator/run_config.h"

namespace shoal {

/// InvalidArgument naming the entry that cannot be meant.
Result<void> check_plugins(const Plugins& plugins);

/// The names that --backend and --transport take: those of the build, and those of `plugins`.
std::vector<std::string> backend_names(const Plugins& plugins);
std::vector<std::string> transport_names(const Plugins& plugins);

/// Puts the transports of `runtime` into `table`, in the place of those that have the same scheme.
void add_own_transports(TransportTable& table, const std::optional<RuntimeOptions>& runtime);

/// The backend of that name: the program's own, or that of the build. NotFound lists the names; FailedPrecondition where the
/// program's function gives none; the error of what that function throws.
Result<std::unique_ptr<backends::Backend>> make_backend(const std::string& name,
                                                        const std::optional<RuntimeOptions>& runtime);

}  // namespace shoal
