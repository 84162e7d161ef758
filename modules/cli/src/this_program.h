// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The file of the program that this process runs.
#include <string>

namespace shoal::cli {

/// Returns the file of this program, as execve() got its name (/proc may be missing), or `called` if the system does not
/// know that name. A name without a folder gets "./", since a bare name would be looked for in PATH.
std::string file_of_this_program(const char* called);

}  // namespace shoal::cli
