// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Temporary files: what a process writes under a name that nobody reads, until it is complete. A process that is killed
/// leaves them, and the next one removes them.
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/environment.h"

namespace shoal {

/// A living process touches the files that it writes more often than this.
inline constexpr auto kAbandonedAfter = std::chrono::hours(1);

/// Removes the entries of `folder` whose names begin with one of `prefixes`, if nothing in them has been touched for
/// `age`, by the clock of whoever keeps the folder: zero for who alone writes such files, and holds the folder. What cannot be
/// removed is tried again at the next start.
void remove_temporary_files(Environment& env, const std::string& folder, const std::vector<std::string_view>& prefixes,
                            Duration age = kAbandonedAfter);

/// The name of an export begins with it until it is complete.
inline constexpr std::string_view kUnfinishedExport = ".export-";

}  // namespace shoal
