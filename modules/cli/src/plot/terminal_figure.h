// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Draws a figure as lines of text: braille for curves, shades for cells.
#include <string>
#include <vector>

#include "plot/figure.h"

namespace shoal::cli::plot {

struct TerminalStyle {
  int columns = 80;  ///< The longest line in characters; at least 20.
  int rows = 12;     ///< The height of each panel's canvas; at least 3.
  bool colours = false;
};

/// Returns the lines, without line breaks. Without colours each run has a letter, which marks its lines and its name in the
/// legend.
std::vector<std::string> terminal_figure(const Figure& figure, const TerminalStyle& style);

// The functions below draw the parts of a figure.
std::vector<std::string> terminal_lines(const LinePanel& panel, const std::vector<Run>& runs, const TerminalStyle& style);
std::vector<std::string> terminal_grid(const GridPanel& panel, const TerminalStyle& style);
/// Returns the letter of a run: a to z, then A to Z, then a again; * for a run without a colour.
char letter_of(const std::vector<Run>& runs, size_t run);
/// Breaks `text` into lines of at most `columns` characters, between words if possible.
std::vector<std::string> wrapped(const std::string& text, int columns);
/// Returns the row of labels below an axis of `width` characters. `labels`: the index of a character of the axis, and the
/// label that is centred below it. Labels that would touch another are left out.
std::string label_row(const std::vector<std::pair<int, std::string>>& labels, int width);

}  // namespace shoal::cli::plot
