// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Texts of "name: value" lines that describe a job or a model. When two tasks connect, they compare such texts, so that
/// an error can name the first difference.
#include <map>
#include <string>
#include <string_view>

namespace shoal::cluster {

/// A text that was cut short ends with a line of this name. The value in this line is a hash of the whole text.
inline constexpr std::string_view kMoreLines = "and more";

/// The first whole lines of `text` that fit into kIdentityBytesMax, then a kMoreLines line if some were left out.
std::string bounded_lines(std::string text);

/// Maps each name in a text of "name: value" lines to its value. A line without ": " is a name with an empty value. Names
/// and values are views into the text.
using IdentityLines = std::map<std::string_view, std::string_view>;
IdentityLines identity_lines(std::string_view text);

}  // namespace shoal::cluster
