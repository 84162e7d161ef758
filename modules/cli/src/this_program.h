// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The file of the program that this process runs.
#include <string>

namespace shoal::cli {

/// Returns the path of this program, as the kernel got it in execve() (/proc/self/exe may be missing), or `called` if the
/// kernel does not tell it. A name without a folder gets "./", since a bare name would be looked for in PATH.
std::string file_of_this_program(const char* called);

}  // namespace shoal::cli
