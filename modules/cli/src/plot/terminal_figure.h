// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A figure as lines of text: braille for curves, shades for cells.
#include <string>
#include <vector>

#include "plot/figure.h"

namespace shoal::cli::plot {

struct TerminalStyle {
  int columns = 80;  ///< No line has more characters. At least 20 are taken.
  int rows = 12;     ///< Of each panel's canvas, at least 3.
  bool colours = false;
};

/// All lines, without line breaks. Without colours each run has a letter, which stands on its lines and in the legend.
std::vector<std::string> terminal_figure(const Figure& figure, const TerminalStyle& style);

// The parts of it.
std::vector<std::string> terminal_lines(const LinePanel& panel, const std::vector<Run>& runs, const TerminalStyle& style);
std::vector<std::string> terminal_grid(const GridPanel& panel, const TerminalStyle& style);
/// The letter of a run: a to z, then A to Z, again and again; * for a run without a colour.
char letter_of(const std::vector<Run>& runs, size_t run);
/// `text` in lines of at most `columns` characters, broken between words where that is possible.
std::vector<std::string> wrapped(const std::string& text, int columns);
/// The row of labels below an axis of `width` characters, each in the middle below its place, without those that would touch another.
std::string label_row(const std::vector<std::pair<int, std::string>>& labels, int width);

}  // namespace shoal::cli::plot
