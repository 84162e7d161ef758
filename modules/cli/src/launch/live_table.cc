// SPDX-License-Identifier: Apache-2.0
#include "launch/live_table.h"

#include <algorithm>
#include <array>

namespace shoal::cli::launch {
namespace {

struct Column {
  std::string_view title;
  std::string TableRow::*text;
  bool right;  // Numbers.
};

constexpr std::array kColumns{
    Column{"task", &TableRow::task, false},
    Column{"host", &TableRow::host, false},
    Column{"state", &TableRow::state, false},
    Column{"step", &TableRow::step, true},
    Column{"steps/s", &TableRow::steps_per_second, true},
    Column{"examples/s", &TableRow::examples_per_second, true},
    Column{"restarts", &TableRow::restarts, true},
    Column{"memory", &TableRow::memory, true},
    Column{"waiting for", &TableRow::waiting_for, false},
};

bool is_in_all_tables(const Column& column) {
  return column.text != &TableRow::host && column.text != &TableRow::memory && column.text != &TableRow::waiting_for;
}

/// What a task wrote may be anything: what moves the cursor becomes a space.
std::string padded(std::string text, size_t width, bool right) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return uint8_t(c) < 0x20 || c == 0x7f; }, ' ');
  const std::string space(width - std::min(width, text.size()), ' ');
  return right ? space + text : text + space;
}

/// At most `width` bytes of `line`, no character of UTF-8 cut in two, and no spaces behind.
std::string cut(std::string line, size_t width) {
  if (line.size() > width) {
    while (width > 0 && (uint8_t(line[width]) & 0xc0) == 0x80) --width;
    line.resize(width);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::vector<const TableRow*> shown_rows(const std::vector<TableRow>& rows, size_t room) {
  std::vector<const TableRow*> shown;
  for (const bool settled : {false, true}) {  // Those that somebody should see come in for sure.
    for (const TableRow& row : rows) {
      if (row.settled == settled && shown.size() < room) shown.push_back(&row);
    }
  }
  std::sort(shown.begin(), shown.end());  // In the order of `rows`.
  return shown;
}

}  // namespace

std::vector<std::string> table_lines(const std::vector<TableRow>& rows, TableSize size) {
  // Below the table stands the cursor; a line that is full would wrap, and could not be taken back.
  const size_t room = size_t(std::max(size.lines - 1, 2)), width = size_t(std::max(size.columns - 1, 10));
  const bool all = rows.size() + 1 <= room;
  const std::vector<const TableRow*> shown = shown_rows(rows, all ? rows.size() : room - 2);
  std::vector<std::string> lines(shown.size() + 1);
  for (const Column& column : kColumns) {
    size_t widest = 0;
    for (const TableRow* row : shown) widest = std::max(widest, (row->*column.text).size());
    if (widest == 0 && !is_in_all_tables(column)) continue;
    widest = std::max(widest, column.title.size());
    const auto add = [&](std::string& line, const std::string& text) {
      line += (line.empty() ? "" : "  ") + padded(text, widest, column.right);
    };
    add(lines.front(), std::string(column.title));
    for (size_t i = 0; i < shown.size(); ++i) add(lines[i + 1], shown[i]->*column.text);
  }
  if (!all) lines.push_back("and " + std::to_string(rows.size() - shown.size()) + " more tasks");
  for (std::string& line : lines) line = cut(std::move(line), width);
  return lines;
}

/// What was drawn, and wraps since the terminal has become narrower, is of more lines now.
std::string LiveTable::take_back(int columns) {
  size_t lines = 0;
  for (const size_t width : drawn_) lines += 1 + (std::max<size_t>(width, 1) - 1) / size_t(std::max(columns, 1));
  drawn_.clear();
  return lines == 0 ? "" : "\x1b[" + std::to_string(lines) + "A\r\x1b[J";  // Up, and away with all below.
}

std::string LiveTable::redraw(const std::vector<TableRow>& rows, TableSize size) {
  std::string text = close(size.columns);
  for (const std::string& line : table_lines(rows, size)) {
    text += line + "\n";
    drawn_.push_back(line.size());
  }
  return text;
}

std::string LiveTable::close(int columns) {
  std::string text = take_back(columns) + above_.str();
  above_.str("");
  return text;
}

}  // namespace shoal::cli::launch
