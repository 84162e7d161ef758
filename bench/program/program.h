// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the mains of several benchmarks share.
#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal::bench {

/// Ends the program with status 0 after a help that was asked for, with status 2 after a sentence on what is wrong.
void parse_or_exit(CLI::App& app, int argc, char** argv);

/// The exit status of a program that is `body`: prints the error that it returns or raises.
int run_program(std::string_view name, const std::function<Result<void>()>& body);

}  // namespace shoal::bench
