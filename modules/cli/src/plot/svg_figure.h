// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A figure as a file of SVG: small multiples on white, with colours that people who are colour-blind tell apart.
#include <optional>
#include <string>
#include <string_view>

#include "plot/figure.h"
#include "plot/svg_document.h"

namespace shoal::cli::plot {

struct SvgSize {
  double width = 960;            ///< Of the picture, in pixels.
  std::optional<double> height;  ///< Default: as much as its panels need.
};

/// The file's text. It has no scripts and no fonts of its own.
std::string svg_figure(const Figure& figure, const SvgSize& size);

/// A rectangle of the picture.
struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

// The parts of it.
void svg_lines(SvgDocument& document, const LinePanel& panel, const std::vector<Run>& runs, const Box& box);
void svg_grid(SvgDocument& document, const GridPanel& panel, const Box& box);
/// The title of a panel, and its notes at the bottom; returns what is left of the box.
Box svg_frame(SvgDocument& document, const std::string& title, const std::vector<std::string>& notes, Box box);
/// The attributes of a stroke of the run's colour: eight colours by Okabe and Ito (Color Universal Design, 2008), the yellow replaced, since
/// nobody sees it on white. Half of the strokes are dashed, which a print in black shows.
std::string svg_stroke(const Run& run);
std::string_view svg_colour(const Run& run);

}  // namespace shoal::cli::plot
