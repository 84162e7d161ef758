// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Names for runs, as short as they can be told apart.
#include <string>
#include <vector>

namespace shoal::cli::plot {

/// For each folder its path without the leading and the trailing parts that all have in common: "trials/1/m" and "trials/2/m" are "1" and
/// "2". The last part of the path where there is one folder, or where nothing differs; equal ones get a number behind ("m", "m (2)").
std::vector<std::string> run_names(const std::vector<std::string>& folders);

}  // namespace shoal::cli::plot
