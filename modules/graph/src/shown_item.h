// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Prepares words and names for error messages.
#include <string>

namespace shoal {

/// Returns `item`, cut at the end of a character after at most `bytes_max` bytes, then followed by "...". Control
/// characters are written as "\n", "\t" or, for example, "\x1b".
std::string shown_item(const std::string& item, size_t bytes_max = 40);

}  // namespace shoal
