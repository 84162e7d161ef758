// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Recognises by a file's first bytes what it is: text with or without a byte order mark, or no text at all (an archive, an
/// image, a table of another program).
#include <optional>
#include <string>
#include <string_view>

#include "csv_syntax.h"

namespace shoal::data {

/// Returns the size in bytes of the byte order mark at the start of `begin`, the first bytes of a file: 3 for UTF-8 (RFC
/// 3629, section 6; spreadsheets write it), 0 if there is none. The mark is no part of the text.
size_t byte_order_mark_in(std::string_view begin);
/// Whether `begin` is the beginning of a byte order mark, so that more bytes may complete the mark.
bool may_become_byte_order_mark(std::string_view begin);

/// For a file that is compressed, an archive, or a document of another program or encoding: returns what it is and what to
/// do. The text is meant to follow the file's name ("is a zip archive; ..."). Returns nothing for UTF-8 text and for
/// unknown formats. `begin` has the first bytes of the file. The more they are, the more formats are recognised.
std::optional<std::string> what_is_no_text(std::string_view begin);

/// As what_is_no_text(), for a file of lines. It also refuses UTF-16 without a mark, and text whose lines all end with CR
/// alone.
std::optional<std::string> what_are_no_lines(std::string_view begin);

/// As what_is_no_text(), for a CSV file. It also refuses zero bytes, lines that end with CR alone, and JSON.
std::optional<std::string> what_is_no_table(std::string_view begin, const CsvSyntax& syntax);

}  // namespace shoal::data
