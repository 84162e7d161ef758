// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Names from outside (folders, tags), as a picture or a terminal can show them.
#include <cstddef>
#include <string>
#include <string_view>

namespace shoal::cli::plot {

/// `text` in UTF-8, without characters that move a cursor or that XML refuses: each of these becomes U+FFFD.
std::string clean_text(std::string_view text);

/// How many characters `text`, which is UTF-8, has.
size_t characters_in(std::string_view text);

/// At most `characters` of them; of a longer text the end, behind "…", since the ends of names are what differs.
std::string shortened(const std::string& text, size_t characters);

/// Text between the tags of XML, or in an attribute.
std::string xml_text(std::string_view text);

}  // namespace shoal::cli::plot
