// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes the numbers in file names: "00012".
#include <algorithm>
#include <string>

namespace shoal::checkpoint {

inline std::string five_digits(size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - std::min<size_t>(5, digits.size()), '0') + digits;
}

}  // namespace shoal::checkpoint
