// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tells by a file's first bytes what it is: text with or without a byte order mark, or no text at all (an archive, an image, a
/// table of another program).
#include <optional>
#include <string>
#include <string_view>

#include "csv_syntax.h"

namespace shoal::data {

/// The bytes of a byte order mark that `begin`, the first bytes of a file, begins with: 3 for that of UTF-8 (RFC 3629,
/// section 6), which spreadsheets write, else 0. The mark is no part of the text.
size_t byte_order_mark_in(std::string_view begin);
/// Whether `begin` is less than a mark, and more bytes may make it one.
bool may_become_byte_order_mark(std::string_view begin);

/// For a file that is compressed, an archive, a document of another program or in another encoding: what it is and what
/// helps, as the end of a sentence that begins with the file's name ("is a zip archive; ..."). Nothing for text of UTF-8,
/// and for what is not known. `begin`: the first bytes, the more the better.
std::optional<std::string> what_is_no_text(std::string_view begin);

/// As what_is_no_text(), for a file of lines, which in addition is not in UTF-16 without a mark, and does not have lines
/// that all end with CR alone.
std::optional<std::string> what_are_no_lines(std::string_view begin);

/// As what_is_no_text(), for a CSV file, which in addition has no zero bytes, no lines that end with CR alone, and is no JSON.
std::optional<std::string> what_is_no_table(std::string_view begin, const CsvSyntax& syntax);

}  // namespace shoal::data
