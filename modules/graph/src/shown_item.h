// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Prepares words and names for sentences.
#include <string>

namespace shoal {

/// `item`, cut after at most `bytes_max` bytes at the end of a character. Line breaks and other control characters are
/// written as "\n".
std::string shown_item(const std::string& item, size_t bytes_max = 40);

}  // namespace shoal
