// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Makes errors about paths of this machine's file system. If a path does not exist, looks at the file system to find out
/// why. A simulated disk uses path_error() alone, since its paths do not exist on the machine.
#include "shoal/base/path_error.h"

namespace shoal {

/// Like path_error(). If the path is missing (ENOENT), or a symbolic link is in its place (EEXIST), the sentence ends with
/// the reason, such as "; m is a link to /old/disk, which is not there" or "; the working folder of this process was
/// removed: ...".
Error machine_path_error(std::string_view verb, const std::string& path, int number);

}  // namespace shoal
