// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The mains of the program `shoal`, and of others that have its commands.
#include "shoal/cli/cli.h"

namespace shoal::cli {

/// Runs cli_main() on the standard streams of this process, with what its signals and a full disk mean to a command.
int tool_main(int argc, const char* const* argv, const Self& self = {});

}  // namespace shoal::cli
