// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Formats metrics as one line for people.
#include <map>
#include <string>

namespace shoal::monitor {

/// Returns a text such as "accuracy = 0.9912, global_step = 2000, loss = 0.02874": sorted by name, whole numbers without a
/// fraction, others with up to seven significant digits.
std::string format_metrics(const std::map<std::string, double>& metrics);

}  // namespace shoal::monitor
