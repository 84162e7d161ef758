// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tables of text for a terminal, in columns as wide as their longest text.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::cli {

/// The size of a terminal in characters.
struct TableSize {
  int columns = 80;
  int lines = 24;
};

struct TextColumn {
  std::string title;
  bool right = false;  ///< True: aligns the cells to the right, for numbers.
  std::vector<std::string> cells{};
};

/// False for the bytes that continue a character of UTF-8.
bool begins_character(char byte);

/// Returns the number of characters of `text`, which should be UTF-8.
size_t characters_in(std::string_view text);

/// Counts `characters` characters of `text` from the byte with index `begin` on, and returns the index of the byte after
/// the last one counted. If the text ends earlier, returns its size.
size_t byte_behind(std::string_view text, size_t begin, size_t characters);

/// Returns a line of titles and a line for each row. Each line is shorter than a terminal of `columns` characters, because
/// a full line would wrap. A control character of ASCII becomes a space, and each other character
/// that clean_text() refuses becomes U+FFFD.
std::vector<std::string> text_table(std::vector<TextColumn> table, int columns);

/// Returns as much of a line as fits, without cutting a UTF-8 character in two, and without spaces at the end.
std::string fitted_line(std::string line, int columns);

}  // namespace shoal::cli
