// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Texts of "name: value" lines, which peers compare when they connect.
#include <map>
#include <string>
#include <string_view>

namespace shoal::cluster {

/// The name of the last line of a text that was cut short. Its value is a hash of the whole text.
inline constexpr std::string_view kMoreLines = "and more";

/// The first whole lines of `text` that fit into kIdentityBytesMax, then a kMoreLines line if some were left out.
std::string bounded_lines(std::string text);

/// Maps each name in a text of "name: value" lines to its value. A line without ": " is a name with an empty value. Names
/// and values are views into the text.
using IdentityLines = std::map<std::string_view, std::string_view>;
IdentityLines identity_lines(std::string_view text);

}  // namespace shoal::cluster
