// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes strings as JSON literals.
#include <string>
#include <string_view>

namespace shoal::checkpoint {

/// `text` as a JSON string literal, quotes included. Bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace shoal::checkpoint
