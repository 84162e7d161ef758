// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A picture before it is drawn: panels of lines, or of cells in rows and columns. SVG files (svg_figure.h) and terminals
/// (terminal_figure.h) show the same figures.
#include <optional>
#include <string>
#include <vector>

#include "plot/axis.h"
#include "plot/reduction.h"

namespace shoal::cli::plot {

struct Run {
  std::string name;
  /// The index of the run's colour. Nothing: the run is one of many and is drawn in grey, so that the better runs stand
  /// out.
  std::optional<size_t> colour;
  std::string parameters = {};  ///< The flags in which the run differs from others ("batch 64, dropout 0.2"); may be empty.
};

struct Line {
  size_t run = 0;  ///< An index into Figure::runs.
  std::vector<XY> points;
  std::vector<XY> faint;  ///< The points before smoothing; may be empty.
  std::string last;       ///< The last value, as text.
  std::string best;       ///< The best value with its step, as text; empty if unknown.
  bool is_best = false;   ///< True for the line with the best value of the panel.
};

struct LinePanel {
  std::string title, x_label;
  Range x, y;
  bool log_y = false;
  bool diagonal = false;  ///< True: draws the diagonal from the lower left, the curve of random guesses.
  bool square = false;    ///< True if both axes have the same unit; pictures are then about square.
  std::vector<Line> lines;
  std::vector<std::string> notes;  ///< Sentences below the panel.
};

struct GridTick {
  double place = 0;  ///< A position in cells, from the left or from the top.
  std::string label;
};

struct GridPanel {
  std::string title, x_label, y_label;
  int rows = 0, columns = 0;
  std::vector<double> shades;      ///< Values from 0 to 1, row by row, the top row first.
  std::vector<std::string> texts;  ///< One text per cell, or none at all.
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
