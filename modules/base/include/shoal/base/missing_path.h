#pragma once
/// Why a path leads nowhere, where that can be seen: for errors.
#include <string>

namespace shoal {

/// "; m is a link to /old/disk, which is not there", or "; the working folder of this process was removed: ...", or nothing.
std::string why_missing(const std::string& path);

}  // namespace shoal
