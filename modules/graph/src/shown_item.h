// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Prepares words and names for error messages.
#include <string>

namespace shoal {

/// Returns `item`, cut at the end of a character after at most `bytes_max` bytes. Line breaks and other control
/// characters are written as "\n".
std::string shown_item(const std::string& item, size_t bytes_max = 40);

}  // namespace shoal
