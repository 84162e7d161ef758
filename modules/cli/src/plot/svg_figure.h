// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Draws a figure as an SVG file: small multiples on white, with colours that colour-blind people can distinguish.
#include <optional>
#include <string>
#include <string_view>

#include "plot/figure.h"
#include "plot/svg_document.h"

namespace shoal::cli::plot {

struct SvgSize {
  double width = 960;            ///< The picture's width in pixels.
  std::optional<double> height;  ///< Default: as high as the panels need.
};

/// Returns the text of the file, which has no scripts and no embedded fonts.
std::string svg_figure(const Figure& figure, const SvgSize& size);

/// A rectangle in the picture, in pixels.
struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

// The functions below draw the parts of a figure.
void svg_lines(SvgDocument& document, const LinePanel& panel, const std::vector<Run>& runs, const Box& box);
void svg_grid(SvgDocument& document, const GridPanel& panel, const Box& box);
/// Draws a panel's title, and its notes at the bottom. Returns the part of `box` that is left between them.
Box svg_frame(SvgDocument& document, const std::string& title, const std::vector<std::string>& notes, Box box);
/// Returns the attributes of a stroke in the run's colour: eight colours by Okabe and Ito (Color Universal Design, 2008),
/// with the yellow replaced, since it is invisible on white. Half of the strokes are dashed, which distinguishes them in
/// black and white, too.
std::string svg_stroke(const Run& run);
std::string_view svg_colour(const Run& run);

}  // namespace shoal::cli::plot
