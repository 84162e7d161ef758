// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds names for runs: as short as possible, and different.
#include <string>
#include <vector>

namespace shoal::cli::plot {

/// Names each folder by its path without the leading and trailing parts that all paths share: "trials/1/m" and "trials/2/m"
/// become "1" and "2". A single folder, and folders that do not differ, are named by the last part of the path; equal names
/// get a number ("m", "m (2)").
std::vector<std::string> run_names(const std::vector<std::string>& folders);

}  // namespace shoal::cli::plot
