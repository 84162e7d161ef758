// SPDX-License-Identifier: Apache-2.0
// Draws a panel of lines as SVG.
#include <algorithm>
#include <cmath>

#include "plot/clean_text.h"
#include "plot/svg_figure.h"
#include "shoal/base/format.h"

namespace shoal::cli::plot {
namespace {

constexpr double kTickSize = 10.5, kLabelSize = 11, kSmallSize = 9.5;

/// Maps values to positions in the picture.
struct Area {
  Box box;
  Axis x, y;
  double place_x(double value) const { return box.x + x.place(value) * box.width; }
  double place_y(double value) const { return box.y + (1 - y.place(value)) * box.height; }
};

/// A label beside the end of a line.
struct EndLabel {
  const Line* line = nullptr;
  std::string first, second;
  double wanted = 0;  // The y of the line's end, beside which the label would best stand.
  double y = 0;       // The middle of the label.
};

std::vector<EndLabel> end_labels(const LinePanel& panel, const std::vector<Run>& runs) {
  std::vector<EndLabel> labels;
  for (const Line& line : panel.lines) {
    if (!runs[line.run].colour) continue;
    EndLabel label{.line = &line};
    if (runs.size() > 1) label.first = shortened(runs[line.run].name, 14) + "  ";
    label.first += line.last;
    if (!line.best.empty()) label.second = "best " + line.best;
    labels.push_back(std::move(label));
  }
  return labels;
}

double labels_width(const std::vector<EndLabel>& labels) {
  double width = 0;
  for (const EndLabel& label : labels) {
    width = std::max({width, text_width(label.first, kLabelSize), text_width(label.second, kSmallSize)});
  }
  return width == 0 ? 12 : width + 18;
}

/// Moves labels up or down until they do not overlap. Each label needs `height`, and stays as near to the end of its line
/// as possible.
void spread(std::vector<EndLabel>& labels, double top, double bottom, double height) {
  std::sort(labels.begin(), labels.end(), [](const EndLabel& a, const EndLabel& b) { return a.wanted < b.wanted; });
  double least = top + height / 2;
  for (EndLabel& label : labels) {
    label.y = std::max(label.wanted, least);
    least = label.y + height;
  }
  double most = bottom - height / 2;
  for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
    label->y = std::min(label->y, most);
    most = label->y - height;
  }
}

void draw_axes(SvgDocument& document, const Area& area, const std::string& x_label) {
  const Box& box = area.box;
  for (const Tick& tick : area.y.ticks()) {
    const double y = area.place_y(tick.value);
    document.line(box.x, y, box.x + box.width, y, "stroke=\"#E4E4E4\" stroke-width=\"1\"");
    document.text(box.x - 6, y + 3.5, tick.label, {.size = kTickSize, .anchor = Anchor::kEnd, .colour = "#555555"});
  }
  const double bottom = box.y + box.height;
  double free_from = -1e9;
  for (const Tick& tick : area.x.ticks()) {
    const double x = area.place_x(tick.value), half = text_width(tick.label, kTickSize) / 2;
    document.line(x, bottom, x, bottom + 4, "stroke=\"#888888\" stroke-width=\"1\"");
    if (x - half < free_from) continue;
    document.text(x, bottom + 15, tick.label, {.size = kTickSize, .anchor = Anchor::kMiddle, .colour = "#555555"});
    free_from = x + half + 4;
  }
  document.line(box.x, bottom, box.x + box.width, bottom, "stroke=\"#888888\" stroke-width=\"1\"");
  document.text(box.x + box.width / 2, bottom + 29, x_label,
                {.size = kTickSize, .anchor = Anchor::kMiddle, .colour = "#555555"});
}

/// Returns the commands of an SVG path that joins neighbouring points. A point whose y is not finite leaves a gap.
std::string path_of(const std::vector<XY>& points, const Area& area) {
  std::string data;
  bool connected = false;
  for (const XY& point : points) {
    if (std::isfinite(point.y)) {
      data += (connected ? "L" : "M") + coordinate(area.place_x(point.x)) + " " + coordinate(area.place_y(point.y));
    }
    connected = std::isfinite(point.y);
  }
  return data;
}

void draw_line(SvgDocument& document, const Line& line, const Run& run, const Area& area) {
  constexpr size_t kMarkedPoints = 30;
  const int columns = std::max(1, int(area.box.width));
  const std::string stroke = svg_stroke(run);
  const std::string name = attribute("data-run", run.name);
  if (!line.faint.empty() && run.colour) {
    const std::vector<XY> faint = reduced(line.faint, area.x.range().low, area.x.range().high, columns);
    document.path(path_of(faint, area), "class=\"recorded\"" + name + " fill=\"none\" stroke=\"" +
                                            std::string(svg_colour(run)) + "\" stroke-width=\"1\" stroke-opacity=\"0.3\"");
  }
  document.path(path_of(reduced(line.points, area.x.range().low, area.x.range().high, columns), area),
                "class=\"line\"" + name + " " + stroke);
  if (line.points.size() > kMarkedPoints) return;
  for (const XY& point : line.points) {
    if (!std::isfinite(point.y)) continue;
    document.circle(area.place_x(point.x), area.place_y(point.y), run.colour ? 2.6 : 1.5,
                    "fill=\"" + std::string(svg_colour(run)) + "\"");
  }
}

void draw_labels(SvgDocument& document, std::vector<EndLabel>& labels, const std::vector<Run>& runs, const Area& area) {
  const double right = area.box.x + area.box.width;
  for (EndLabel& label : labels) {
    label.wanted = area.box.y + area.box.height;
    for (auto point = label.line->points.rbegin(); point != label.line->points.rend(); ++point) {
      if (!std::isfinite(point->y)) continue;
      label.wanted = area.place_y(point->y);
      break;
    }
  }
  const bool second = double(labels.size()) * 25 <= area.box.height + 30;
  spread(labels, area.box.y - 14, area.box.y + area.box.height + 6, second ? 25 : 13);
  for (const EndLabel& label : labels) {
    const Run& run = runs[label.line->run];
    document.path("M" + coordinate(right + 1) + " " + coordinate(label.wanted) + "L" + coordinate(right + 9) + " " +
                      coordinate(label.y),
                  "fill=\"none\" stroke=\"" + std::string(svg_colour(run)) + "\" stroke-width=\"1\"");
    const bool two = second && !label.second.empty();
    document.text(right + 12, label.y + (two ? -1 : 4), label.first,
                  {.size = kLabelSize, .bold = label.line->is_best, .colour = "#222222"});
    if (two)
      document.text(right + 12, label.y + 10, label.second,
                    {.size = kSmallSize, .bold = label.line->is_best, .colour = "#555555"});
  }
}

}  // namespace

void svg_lines(SvgDocument& document, const LinePanel& panel, const std::vector<Run>& runs, const Box& box) {
  const auto full = [](double value) { return formatted("%.17g", value); };
  document.open_group("class=\"panel\"" + attribute("data-title", panel.title) +
                      attribute("data-x-low", full(panel.x.low)) + attribute("data-x-high", full(panel.x.high)) +
                      attribute("data-y-low", full(panel.y.low)) + attribute("data-y-high", full(panel.y.high)) +
                      attribute("data-y-scale", panel.log_y ? "log" : "linear"));
  const Box inner = svg_frame(document, panel.title, panel.notes, box);
  std::vector<EndLabel> labels = end_labels(panel, runs);
  Axis y(panel.y, panel.log_y, int(std::clamp(inner.height / 45, 2.0, 9.0)));
  double left = 12;
  for (const Tick& tick : y.ticks()) left = std::max(left, text_width(tick.label, kTickSize) + 10);
  const double right = std::min(labels_width(labels), inner.width * 0.45);
  const Box plot{inner.x + left, inner.y + 6, std::max(inner.width - left - right, 30.0),
                 std::max(inner.height - 42, 30.0)};
  const Area area{plot, Axis(panel.x, false, int(std::clamp(plot.width / 62, 2.0, 10.0))), std::move(y)};
  document.rectangle(plot.x, plot.y, plot.width, plot.height, "class=\"area\" fill=\"#FBFBFB\"");
  draw_axes(document, area, panel.x_label);
  if (panel.diagonal) {
    document.line(plot.x, plot.y + plot.height, plot.x + plot.width, plot.y, "stroke=\"#999999\" stroke-dasharray=\"3 4\"");
  }
  for (const bool coloured : {false, true}) {  // Grey lines are drawn first, below the others.
    for (const Line& line : panel.lines) {
      if (runs[line.run].colour.has_value() == coloured) draw_line(document, line, runs[line.run], area);
    }
  }
  draw_labels(document, labels, runs, area);
  document.close_group();
}

}  // namespace shoal::cli::plot
