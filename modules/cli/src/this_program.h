// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The file of the program that this process runs.
#include <string>

namespace shoal::cli {

/// The file, as it was named when it started, since /proc may be missing; `called`, where the system does not say. A name without a
/// folder gets "./", since it would be looked for in PATH.
std::string file_of_this_program(const char* called);

}  // namespace shoal::cli
