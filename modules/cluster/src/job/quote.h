// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Quotes text from outside in error sentences: in quotes, on one line, of bounded length.
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace shoal::cluster {

/// `text` in double quotes; control characters become spaces and anything beyond `bytes_max` becomes "...".
std::string in_quotes(std::string_view text, size_t bytes_max = 80);
/// "a, b, c" (at most 20 names, then the number of the others); "none" if there are none.
std::string listed(std::span<const std::string> names);

}  // namespace shoal::cluster
