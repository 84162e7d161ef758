// SPDX-License-Identifier: Apache-2.0
#include "plot/terminal_figure.h"

#include <algorithm>

#include "plot/clean_text.h"

namespace shoal::cli::plot {
namespace {

void append_all(std::vector<std::string>& lines, std::vector<std::string> more) {
  lines.insert(lines.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

char letter_of(const std::vector<Run>& runs, size_t run) {
  if (!runs[run].colour) return '*';
  const size_t place = *runs[run].colour % 52;
  return char(place < 26 ? 'a' + place : 'A' + (place - 26));
}

std::vector<std::string> wrapped(const std::string& text, int columns) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = byte_behind(text, begin, size_t(std::max(columns, 1)));
    size_t next = end;
    if (end < text.size()) {
      const size_t space = text.rfind(' ', end);
      if (space != std::string::npos && space > begin) {
        end = space;
        next = space + 1;
      }
    }
    lines.push_back(text.substr(begin, end - begin));
    begin = next;
  }
  return lines;
}

std::string label_row(const std::vector<std::pair<int, std::string>>& labels, int width) {
  std::string row(size_t(std::max(width, 0)), ' ');
  int free_from = 0;
  // One byte is one character here: axis labels are ASCII, and callers convert other labels.
  for (const auto& [place, label] : labels) {
    const int length = int(label.size());
    const int begin = std::clamp(place - length / 2, 0, std::max(width - length, 0));
    if (begin < free_from || begin + length > width) continue;
    row.replace(size_t(begin), size_t(length), label);
    free_from = begin + length + 1;
  }
  row.erase(row.find_last_not_of(' ') + 1);
  return row;
}

std::vector<std::string> terminal_figure(const Figure& figure, const TerminalStyle& given) {
  TerminalStyle style = given;
  style.columns = std::max(style.columns, 20);
  style.rows = std::max(style.rows, 3);
  std::vector<std::string> lines;
  if (!figure.title.empty()) append_all(lines, wrapped(clean_text(figure.title), style.columns));
  const auto add_panel = [&lines](std::vector<std::string> panel) {
    if (!lines.empty()) lines.emplace_back();
    append_all(lines, std::move(panel));
  };
  for (const LinePanel& panel : figure.lines) add_panel(terminal_lines(panel, figure.runs, style));
  for (const GridPanel& panel : figure.grids) add_panel(terminal_grid(panel, style));
  for (const std::string& note : figure.notes) append_all(lines, wrapped(note, style.columns));
  return lines;
}

}  // namespace shoal::cli::plot
