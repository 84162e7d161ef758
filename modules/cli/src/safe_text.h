// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Makes text from files and other processes safe to print: an escape sequence in it could make a terminal hide or change
/// what was printed before, or type for its user.
#include <string>
#include <string_view>

namespace shoal::cli {

/// Returns `text` in UTF-8, with U+FFFD for each character that moves a cursor or that XML forbids.
std::string clean_text(std::string_view text);
/// As clean_text(), but keeps line ends and tabs, for text of several lines.
std::string clean_lines(std::string_view text);

}  // namespace shoal::cli
