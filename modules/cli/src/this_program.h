// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The file of the program that this process runs.
#include <string>

namespace shoal::cli {

/// Returns the file of this program as it was named at its start (/proc, which knows the file itself, may be missing), or
/// `called` if the system does not say. A name without a folder gets "./": otherwise it would be looked for in PATH.
std::string file_of_this_program(const char* called);

}  // namespace shoal::cli
