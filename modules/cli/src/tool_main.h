// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The main function of the program `shoal`, and of other programs that have its commands.
#include "shoal/cli/cli.h"

namespace shoal::cli {

/// Runs cli_main() on the standard streams of this process, and handles signals and a full disk as a command should.
int tool_main(int argc, const char* const* argv, const Self& self = {});

}  // namespace shoal::cli
