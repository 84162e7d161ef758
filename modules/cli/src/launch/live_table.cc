// SPDX-License-Identifier: Apache-2.0
#include "launch/live_table.h"

#include <algorithm>
#include <array>
#include <utility>

namespace shoal::cli::launch {
namespace {

struct Column {
  std::string_view title;
  std::string TableRow::*text;
  bool right;  // True for numbers: aligns them to the right.
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

std::vector<const TableRow*> shown_rows(const std::vector<TableRow>& rows, size_t room) {
  std::vector<const TableRow*> shown;
  for (const bool settled : {false, true}) {  // Rows of tasks that wait or restart get the room first.
    for (const TableRow& row : rows) {
      if (row.settled == settled && shown.size() < room) shown.push_back(&row);
    }
  }
  std::sort(shown.begin(), shown.end());  // Restores the order of `rows`.
  return shown;
}

}  // namespace

std::vector<std::string> table_lines(const std::vector<TableRow>& rows, TableSize size) {
  const size_t room = size_t(std::max(size.lines - 1, 2));  // The cursor needs the line below the table.
  const bool all = rows.size() + 1 <= room;
  const std::vector<const TableRow*> shown = shown_rows(rows, all ? rows.size() : room - 2);
  std::vector<TextColumn> table;
  for (const Column& column : kColumns) {
    TextColumn text{.title = std::string(column.title), .right = column.right};
    for (const TableRow* row : shown) text.cells.push_back(row->*column.text);
    const bool empty = std::ranges::all_of(text.cells, [](const std::string& cell) { return cell.empty(); });
    if (!empty || is_in_all_tables(column)) table.push_back(std::move(text));
  }
  std::vector<std::string> lines = text_table(table, size.columns);
  if (!all) lines.push_back(fitted_line("and " + std::to_string(rows.size() - shown.size()) + " more tasks", size.columns));
  return lines;
}

/// Returns the text that erases the table. Its lines wrap, and take more rows, if the terminal has become narrower.
std::string LiveTable::take_back(int columns) {
  size_t lines = 0;
  for (const size_t width : drawn_) lines += 1 + (std::max<size_t>(width, 1) - 1) / size_t(std::max(columns, 1));
  drawn_.clear();
  return lines == 0 ? "" : "\x1b[" + std::to_string(lines) + "A\r\x1b[J";  // Moves the cursor up, and erases from there.
}

std::string LiveTable::redraw(const std::vector<std::string>& lines, int columns) {
  std::string text = close(columns);
  for (const std::string& line : lines) {
    text += line + "\n";
    drawn_.push_back(line.size());
  }
  return text;
}

std::string LiveTable::close(int columns) { return take_back(columns) + std::exchange(text_above_, {}); }

}  // namespace shoal::cli::launch
