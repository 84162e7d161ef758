// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Words and names as they stand in a sentence.
#include <string>

namespace shoal {

/// Cut between characters after `bytes_max`; line breaks and their like are written out: "\n".
std::string shown_item(const std::string& item, size_t bytes_max = 40);

}  // namespace shoal
