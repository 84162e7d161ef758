// SPDX-License-Identifier: Apache-2.0
#include "text_table.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "safe_text.h"

namespace shoal::cli {
namespace {

/// Replaces each control character of ASCII by a space, and other characters that a terminal obeys as clean_text() does.
std::string clean_cell(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return uint8_t(c) < 0x20 || c == 0x7f; }, ' ');
  return clean_text(text);
}

std::string padded(const std::string& text, size_t width, bool right) {
  const std::string space(width - std::min(width, characters_in(text)), ' ');
  return right ? space + text : text + space;
}

}  // namespace

bool begins_character(char byte) { return (uint8_t(byte) & 0xc0) != 0x80; }

size_t characters_in(std::string_view text) { return size_t(std::ranges::count_if(text, begins_character)); }

size_t byte_behind(std::string_view text, size_t begin, size_t characters) {
  size_t at = begin;
  for (; at < text.size(); ++at) {
    if (begins_character(text[at]) && characters-- == 0) break;
  }
  return at;
}

std::string fitted_line(std::string line, int columns) {
  line.resize(byte_behind(line, 0, size_t(std::max(columns - 1, 10))));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::vector<std::string> text_table(std::vector<TextColumn> table, int columns) {
  for (TextColumn& column : table) {
    column.title = clean_cell(std::move(column.title));
    for (std::string& cell : column.cells) cell = clean_cell(std::move(cell));
  }
  std::vector<std::string> lines(1 + (table.empty() ? 0 : table.front().cells.size()));
  for (const TextColumn& column : table) {
    size_t widest = characters_in(column.title);
    for (const std::string& cell : column.cells) widest = std::max(widest, characters_in(cell));
    const auto add = [&](std::string& line, const std::string& text) {
      line += (line.empty() ? "" : "  ") + padded(text, widest, column.right);
    };
    add(lines.front(), column.title);
    for (size_t i = 0; i < column.cells.size(); ++i) add(lines[i + 1], column.cells[i]);
  }
  for (std::string& line : lines) line = fitted_line(std::move(line), columns);
  return lines;
}

}  // namespace shoal::cli
