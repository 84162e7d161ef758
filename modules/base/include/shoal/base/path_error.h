// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Errors about paths: texts that are no path (an address, a leading ~), and calls that the system refused.
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal {

/// "cannot `verb` `path`: `cause`; what to do", of the kind that the error number (ENOENT, ...) means for Storage.
/// (A number that tells of a limit: and which, by system_error_text().)
Error path_error(std::string_view verb, const std::string& path, int number);

/// InvalidArgument for what looks like a path and is none of a file system: an address with a scheme ("gs://bucket/m",
/// "file:///m"), which would become a folder of that name, and a path that begins with "~/", which a shell has not replaced by the
/// home folder. Storage on the file system asks this of all paths; who takes one as an option asks earlier.
Result<void> check_path(std::string_view path);

}  // namespace shoal
