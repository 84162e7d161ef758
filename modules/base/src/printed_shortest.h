// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace shoal {

/// What shortest_text() (format.h) writes, by formatted() and std::from_chars().
std::string printed_shortest(double number);
std::string printed_shortest(float number);

}  // namespace shoal
