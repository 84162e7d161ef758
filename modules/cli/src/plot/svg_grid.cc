// SPDX-License-Identifier: Apache-2.0
// Draws a panel of cells as SVG.
#include <algorithm>
#include <cmath>

#include "plot/clean_text.h"
#include "plot/svg_figure.h"
#include "shoal/base/format.h"

namespace shoal::cli::plot {
namespace {

/// Returns a colour between white (`shade` 0) and a dark blue (1, from the palette of Okabe and Ito). It darkens evenly
/// with `shade`, so that people can compare values even on a grey print.
std::string cell_colour(double shade) {
  const double share = std::clamp(shade, 0.0, 1.0);
  const auto mixed = [share](int light, int dark) { return int(std::lround(light + (dark - light) * share)); };
  return formatted("#%02X%02X%02X", unsigned(mixed(0xFF, 0x00)), unsigned(mixed(0xFF, 0x45)), unsigned(mixed(0xFF, 0x82)));
}

/// Draws the labels of rows or columns, without labels that would touch the one before.
void draw_grid_ticks(SvgDocument& document, const GridPanel& panel, const Box& plot, double cell_width,
                     double cell_height) {
  constexpr double kTextSize = 10.5;
  double free_from = -1e9;
  for (const GridTick& tick : panel.y_ticks) {
    const double y = plot.y + tick.place * cell_height;
    if (y - 6 < free_from) continue;
    document.text(plot.x - 6, y + 3.5, shortened(tick.label, 16),
                  {.size = kTextSize, .anchor = Anchor::kEnd, .colour = "#555555"});
    free_from = y + 6;
  }
  free_from = -1e9;
  for (const GridTick& tick : panel.x_ticks) {
    const std::string label = shortened(tick.label, 16);
    const double x = plot.x + tick.place * cell_width, half = text_width(label, kTextSize) / 2;
    if (x - half < free_from) continue;
    document.text(x, plot.y + plot.height + 15, label, {.size = kTextSize, .anchor = Anchor::kMiddle, .colour = "#555555"});
    free_from = x + half + 4;
  }
}

void draw_cells(SvgDocument& document, const GridPanel& panel, const Box& plot, double cell_width, double cell_height) {
  size_t longest = 1;
  for (const std::string& text : panel.texts) longest = std::max(longest, text.size());
  const double size = std::min({12.0, cell_height * 0.6, cell_width * 0.9 / (0.6 * double(longest))});
  for (int row = 0; row < panel.rows; ++row) {
    for (int column = 0; column < panel.columns; ++column) {
      const size_t cell = size_t(row) * size_t(panel.columns) + size_t(column);
      const double shade = panel.shades[cell], x = plot.x + column * cell_width, y = plot.y + row * cell_height;
      if (shade > 0) {
        document.rectangle(x, y, cell_width, cell_height,
                           "class=\"cell\" shape-rendering=\"crispEdges\"" + attribute("fill", cell_colour(shade)));
      }
      if (panel.texts.empty() || size < 5) continue;
      document.text(x + cell_width / 2, y + cell_height / 2 + size * 0.36, panel.texts[cell],
                    {.size = size, .anchor = Anchor::kMiddle, .colour = shade > 0.5 ? "#FFFFFF" : "#333333"});
    }
  }
}

}  // namespace

void svg_grid(SvgDocument& document, const GridPanel& panel, const Box& box) {
  document.open_group("class=\"grid\"" + attribute("data-title", panel.title));
  const Box inner = svg_frame(document, panel.title, panel.notes, box);
  double left = 12;
  for (const GridTick& tick : panel.y_ticks) left = std::max(left, text_width(shortened(tick.label, 16), 10.5) + 10);
  const double above = panel.y_label.empty() ? 4 : 16;
  const Box plot{inner.x + left, inner.y + above, std::max(inner.width - left - 14, 20.0),
                 std::max(inner.height - above - 36, 20.0)};
  if (!panel.y_label.empty()) document.text(inner.x, inner.y + 8, panel.y_label, {.size = 10.5, .colour = "#555555"});
  const double cell_width = plot.width / panel.columns, cell_height = plot.height / panel.rows;
  draw_cells(document, panel, plot, cell_width, cell_height);
  document.rectangle(plot.x, plot.y, plot.width, plot.height, "class=\"area\" fill=\"none\" stroke=\"#888888\"");
  draw_grid_ticks(document, panel, plot, cell_width, cell_height);
  document.text(plot.x + plot.width / 2, plot.y + plot.height + 29, panel.x_label,
                {.size = 10.5, .anchor = Anchor::kMiddle, .colour = "#555555"});
  document.close_group();
}

}  // namespace shoal::cli::plot
