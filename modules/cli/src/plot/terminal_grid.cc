// SPDX-License-Identifier: Apache-2.0
// Draws a panel of cells in a terminal.
#include <algorithm>
#include <array>

#include "plot/clean_text.h"
#include "plot/terminal_figure.h"

namespace shoal::cli::plot {
namespace {

std::string_view shade_of(double shade) {
  static constexpr std::array<std::string_view, 5> kShadeCharacters{" ", "░", "▒", "▓", "█"};
  // Each shade above zero gets at least level 1, whose character differs from a blank.
  const double level = shade <= 0 ? 0 : std::clamp(1 + shade * 3, 1.0, 4.0);
  return kShadeCharacters[size_t(level + 0.5)];
}

size_t label_width(const std::vector<GridTick>& ticks) {
  size_t width = 0;
  for (const GridTick& tick : ticks) width = std::max(width, std::min<size_t>(characters_in(tick.label), 12));
  return width;
}

std::string right_aligned(const std::string& text, size_t width) {
  const size_t length = characters_in(text);
  return (length < width ? std::string(width - length, ' ') : "") + text;
}

}  // namespace

std::vector<std::string> terminal_grid(const GridPanel& panel, const TerminalStyle& style) {
  const int rows = panel.rows, columns = panel.columns;
  const size_t left = label_width(panel.y_ticks);
  const int room = std::max(style.columns - int(left) - 1, 1);
  size_t cell_width = 1;
  bool with_texts = !panel.texts.empty();
  if (with_texts) {
    for (const std::string& text : panel.texts)
      cell_width = std::max(cell_width, text.size() + 2);  // The text, a blank and the character of the shade.
    cell_width = std::max(cell_width, label_width(panel.x_ticks) + 1);
    with_texts = int(cell_width) * columns <= room;
    if (!with_texts) cell_width = 2 * columns <= room ? 2 : 1;
  }
  const int shown = std::min(columns, room / int(cell_width));
  std::vector<std::string> lines = wrapped(panel.title, style.columns);
  for (std::string& line : wrapped(panel.y_label + ", by " + panel.x_label, style.columns))
    lines.push_back(std::move(line));
  std::vector<std::string> labels{size_t(rows)};
  for (const GridTick& tick : panel.y_ticks) {
    labels[size_t(std::clamp(int(tick.place), 0, rows - 1))] = shortened(tick.label, 12);
  }
  for (int row = 0; row < rows; ++row) {
    std::string line = right_aligned(labels[size_t(row)], left) + "│";
    for (int column = 0; column < shown; ++column) {
      const size_t cell = size_t(row) * size_t(columns) + size_t(column);
      const std::string_view shade = shade_of(panel.shades[cell]);
      if (with_texts) {
        line += right_aligned(panel.texts[cell], cell_width - 1) + std::string(shade);
      } else {
        for (size_t i = 0; i < cell_width; ++i) line += shade;
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  std::vector<std::pair<int, std::string>> below;
  for (const GridTick& tick : panel.x_ticks) {
    below.emplace_back(int(tick.place * double(cell_width)), shortened(tick.label, 12));
  }
  lines.push_back(std::string(left + 1, ' ') + label_row(below, shown * int(cell_width)));
  if (shown < columns)
    lines.push_back("The terminal has room for " + std::to_string(shown) + " of " + std::to_string(columns) + " columns.");
  for (const std::string& note : panel.notes) {
    for (std::string& line : wrapped(note, style.columns)) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace shoal::cli::plot
