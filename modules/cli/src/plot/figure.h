// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A picture before it is drawn: panels of lines, or of cells in rows and columns. SVG (svg_figure.h) and terminals (terminal_figure.h)
/// draw the same figures.
#include <optional>
#include <string>
#include <vector>

#include "plot/axis.h"
#include "plot/reduction.h"

namespace shoal::cli::plot {

struct Run {
  std::string name;
  /// Its colour, counted from 0. Nothing: one of many runs, drawn in grey, so that the better ones are seen.
  std::optional<size_t> colour;
};

struct Line {
  size_t run = 0;  ///< Its place in Figure::runs.
  std::vector<XY> points;
  std::vector<XY> faint;  ///< What the points were before they were smoothed; may be empty.
  std::string last;       ///< The last value, as text.
  std::string best;       ///< The best value and where it is, as text; empty if nobody knows which is better.
  bool is_best = false;   ///< Of all lines of the panel this has the best value.
};

struct LinePanel {
  std::string title, x_label;
  Range x, y;
  bool log_y = false;
  bool diagonal = false;  ///< A line of chance from the lower left to the upper right.
  bool square = false;    ///< Both axes have the same unit, so that a picture is about as high as it is wide.
  std::vector<Line> lines;
  std::vector<std::string> notes;  ///< Sentences below the panel.
};

struct GridTick {
  double place = 0;  ///< In cells, from the left or from the top.
  std::string label;
};

struct GridPanel {
  std::string title, x_label, y_label;
  int rows = 0, columns = 0;
  std::vector<double> shades;      ///< From 0 to 1, row by row, the top row first.
  std::vector<std::string> texts;  ///< One in each cell, or none at all.
  std::vector<GridTick> x_ticks, y_ticks;
  std::vector<std::string> notes;
};

struct Figure {
  std::string title;
  std::vector<Run> runs;
  std::vector<LinePanel> lines;
  std::vector<GridPanel> grids;
  std::vector<std::string> notes;
};

}  // namespace shoal::cli::plot
