// SPDX-License-Identifier: Apache-2.0
// Draws a panel of lines in a terminal.
#include <algorithm>
#include <cmath>

#include "plot/braille.h"
#include "plot/clean_text.h"
#include "plot/terminal_figure.h"

namespace shoal::cli::plot {
namespace {

/// Maps values to dots of a canvas.
struct CanvasScale {
  const Axis& x;
  const Axis& y;
  int across, down;  // In dots.

  int column(double value) const { return std::clamp(int(std::lround(x.place(value) * (across - 1))), 0, across - 1); }
  int row(double value) const { return std::clamp(int(std::lround((1 - y.place(value)) * (down - 1))), 0, down - 1); }
};

void draw_points(BrailleCanvas& canvas, const std::vector<XY>& points, const CanvasScale& scale,
                 std::optional<size_t> colour) {
  bool connected = false;
  int last_x = 0, last_y = 0;
  for (const XY& point : points) {
    if (!std::isfinite(point.y)) {
      connected = false;
      continue;
    }
    const int x = scale.column(point.x), y = scale.row(point.y);
    canvas.line(connected ? last_x : x, connected ? last_y : y, x, y, colour);
    last_x = x;
    last_y = y;
    connected = true;
  }
}

/// Puts the run's letter on the line, at its end and at up to four earlier places.
void put_letters(BrailleCanvas& canvas, const std::vector<XY>& points, const CanvasScale& scale, char letter,
                 std::optional<size_t> colour) {
  constexpr size_t kLetters = 5;
  for (size_t i = 1; i <= kLetters; ++i) {
    const XY& point = points[(points.size() - 1) * i / kLetters];
    if (std::isfinite(point.y)) canvas.letter(scale.column(point.x), scale.row(point.y), letter, colour);
  }
}

/// Returns the label of each row that contains a tick.
std::vector<std::string> row_labels(const CanvasScale& scale) {
  std::vector<std::string> labels(size_t(scale.down / 4));
  size_t last_row = SIZE_MAX;
  for (const Tick& tick : scale.y.ticks()) {
    const size_t row = size_t(scale.row(tick.value) / 4);
    if (last_row != SIZE_MAX && row + 1 >= last_row && scale.down >= 24)
      continue;  // No label beside another one, above or below: that looks crowded.
    labels[row] = tick.label;
    last_row = row;
  }
  return labels;
}

void add_x_axis(std::vector<std::string>& lines, const CanvasScale& scale, int left) {
  const int width = scale.across / 2;
  std::vector<bool> marked(size_t(width), false);
  std::vector<std::pair<int, std::string>> labels;
  for (const Tick& tick : scale.x.ticks()) {
    marked[size_t(scale.column(tick.value) / 2)] = true;
    labels.emplace_back(scale.column(tick.value) / 2, tick.label);
  }
  std::string axis = std::string(size_t(left), ' ') + "└";
  for (const bool mark : marked) axis += mark ? "┬" : "─";
  lines.push_back(axis);
  lines.push_back(std::string(size_t(left) + 1, ' ') + label_row(labels, width));
}

std::string legend_of(const Line& line, const std::vector<Run>& runs, const TerminalStyle& style) {
  const std::optional<size_t> colour = runs[line.run].colour;
  std::string text = runs[line.run].name;
  // If the width is too small, the name is cut, since people compare the numbers.
  std::string numbers = "  " + line.last;
  if (!line.best.empty()) numbers += "  best " + line.best;
  if (line.is_best) numbers += "  <- best";
  const size_t room = size_t(style.columns) - 3;
  constexpr size_t kNameLeast = 6;
  if (characters_in(numbers) + std::min(characters_in(text), kNameLeast) > room) numbers = "  " + line.last;
  text = shortened(text, std::max<size_t>(room > characters_in(numbers) ? room - characters_in(numbers) : 0, kNameLeast)) +
         numbers;
  const std::vector<std::string> cut = wrapped(text, int(room));
  if (cut.size() > 1) text = cut.front();
  constexpr size_t kParametersLeast = 12;
  const size_t used = characters_in(text) + 2;
  const std::string& parameters = runs[line.run].parameters;
  if (!parameters.empty() && used + kParametersLeast <= room) text += "  " + cut_text(parameters, room - used);
  return (style.colours ? coloured_text("━━", colour) : std::string(1, letter_of(runs, line.run)) + " ") + " " + text;
}

}  // namespace

std::vector<std::string> terminal_lines(const LinePanel& panel, const std::vector<Run>& runs, const TerminalStyle& style) {
  const Axis y(panel.y, panel.log_y, std::max(2, style.rows / 3));
  size_t left = 0;
  for (const Tick& tick : y.ticks()) left = std::max(left, tick.label.size());
  const int width = std::max(style.columns - int(left) - 2, 6);
  const Axis x(panel.x, false, std::max(2, width / 12));
  BrailleCanvas canvas(width, style.rows);
  const CanvasScale scale{x, y, canvas.dots_across(), canvas.dots_down()};
  if (panel.diagonal) {
    for (int dot = 0; dot < scale.across; dot += 3) {
      canvas.dot(dot, scale.down - 1 - dot * (scale.down - 1) / std::max(scale.across - 1, 1), std::nullopt);
    }
  }
  // Grey lines are drawn first, and the best line last, on top.
  std::vector<const Line*> order;
  for (const Line& line : panel.lines) order.push_back(&line);
  std::stable_sort(order.begin(), order.end(), [&](const Line* a, const Line* b) {
    const auto rank = [&](const Line* line) { return (runs[line->run].colour ? 1 : 0) + (line->is_best ? 1 : 0); };
    return rank(a) < rank(b);
  });
  for (const Line* line : order) draw_points(canvas, line->points, scale, runs[line->run].colour);
  if (!style.colours && panel.lines.size() > 1) {
    for (const Line* line : order) {
      put_letters(canvas, line->points, scale, letter_of(runs, line->run), runs[line->run].colour);
    }
  }
  std::vector<std::string> lines = wrapped(panel.title + ", by " + panel.x_label, style.columns);
  const std::vector<std::string> labels = row_labels(scale), drawn = canvas.rows(style.colours);
  for (size_t row = 0; row < drawn.size(); ++row) {
    lines.push_back(std::string(left - labels[row].size(), ' ') + labels[row] + (labels[row].empty() ? "│" : "┤") +
                    drawn[row]);
  }
  add_x_axis(lines, scale, int(left));
  size_t grey = 0;
  for (const Line& line : panel.lines) {
    if (runs[line.run].colour) {
      lines.push_back(legend_of(line, runs, style));
    } else {
      ++grey;
    }
  }
  if (grey > 0)
    lines.push_back((style.colours ? coloured_text("━━", std::nullopt) : "* ") + (" " + std::to_string(grey) + " more"));
  for (const std::string& note : panel.notes) {
    for (std::string& line : wrapped(note, style.columns)) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace shoal::cli::plot
