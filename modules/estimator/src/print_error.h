// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Prints the error that ended a program.
#include <string_view>

#include "shoal/base/error.h"

namespace shoal {

/// Prints "error: worker 1: ..." on standard error. `task`: the task that failed; empty: the program as a whole. Returns
/// the exit status.
int print_error(const Error& error, std::string_view task = {});

}  // namespace shoal
