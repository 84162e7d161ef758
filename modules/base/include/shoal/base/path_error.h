// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Errors about paths: texts that are no path (an address, a leading ~), and system calls that failed for a path.
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal {

/// Makes the error "cannot `verb` `path`: `cause`; what to do" from an errno (ENOENT, ...). The errno decides the error's
/// kind as in Storage. If a limit was met, the cause names the limit (system_error_text()).
Error path_error(std::string_view verb, const std::string& path, int number);

/// True if a system call failed because a disk is full, a quota is used up, or a limit of file sizes is reached.
bool is_full(const Error& error);
/// True if a system call failed because a folder cannot be written until a user changes something: the disk is full
/// (is_full()), the folder or its file system is read-only, or a part of the path is a file.
bool is_unwritable(const Error& error);

/// InvalidArgument for texts that look like a path but lead to no file: an address with a scheme ("gs://bucket/m",
/// "file:///m"), which would become a folder of that name, and a path that begins with "~/" (no shell has replaced the
/// "~"). Storage on the file system calls this for every path; code that takes a path as an option calls it earlier.
Result<void> check_path(std::string_view path);

}  // namespace shoal
