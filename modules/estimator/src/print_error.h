// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How a program says what ended it.
#include <string_view>

#include "shoal/base/error.h"

namespace shoal {

/// "error: worker 1: ..." on standard error. `task`: whose error it is; empty: the program's. Returns the exit status.
int print_error(const Error& error, std::string_view task = {});

}  // namespace shoal
