// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Texts of "name: value" lines that are compared when tasks meet.
#include <map>
#include <string>
#include <string_view>

namespace shoal::cluster {

/// The name of the last line of a text that was cut short: its value tells the rest apart.
inline constexpr std::string_view kMoreLines = "and more";

/// Whole lines, as many as fit into kIdentityBytesMax, and kMoreLines if that is not all.
std::string bounded_lines(std::string text);

/// Lines by name; those without a ": " come with an empty value. Views of `text`.
using IdentityLines = std::map<std::string_view, std::string_view>;
IdentityLines identity_lines(std::string_view text);

}  // namespace shoal::cluster
