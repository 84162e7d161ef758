// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Temporary files: a process writes under a temporary name until the file or folder is complete. A process that is killed
/// leaves them behind, and the next process removes them.
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/environment.h"

namespace shoal {

/// A temporary file whose age exceeds this is abandoned: a living process touches its files more often.
inline constexpr auto kAbandonedAfter = std::chrono::hours(1);

/// Removes the entries of `folder` whose names begin with one of `prefixes`, if nothing in them has been touched for `age`,
/// by the clock of the machine on which the folder lies. `age` may be 0 if no other process can be writing such files,
/// because this process holds the folder's lock. If an entry cannot be removed, the next start tries again.
void remove_temporary_files(Environment& env, const std::string& folder, const std::vector<std::string_view>& prefixes,
                            Duration age = kAbandonedAfter);

/// The name of an export begins with this text until the export is complete.
inline constexpr std::string_view kUnfinishedExport = ".export-";

}  // namespace shoal
