#pragma once
/// What a process that was killed left half written under names that nobody reads.
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/environment.h"

namespace shoal {

/// Removes the entries of `folder` whose names begin with one of `prefixes`, if nothing in them has been touched for an
/// hour: what a living process is writing stays. Failures are no matter: the next start tries again.
void sweep_leftovers(Environment& env, const std::string& folder, const std::vector<std::string_view>& prefixes);

inline constexpr std::string_view kUnfinishedExport = ".export-";  ///< begins the name of an export until it is complete

}  // namespace shoal
