// SPDX-License-Identifier: Apache-2.0
#include "plot/svg_figure.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "plot/clean_text.h"

namespace shoal::cli::plot {
namespace {

constexpr double kEdge = 14, kGap = 18;  // Margins around the picture and between panels.
constexpr double kNoteLine = 13;

struct SvgColour {
  std::string_view colour;
  std::string_view dashes;
};
constexpr std::array<SvgColour, 8> kSvgColours{
    SvgColour{"#0072B2", ""},    SvgColour{"#D55E00", ""},    SvgColour{"#009E73", ""},    SvgColour{"#CC79A7", ""},
    SvgColour{"#E69F00", "7 3"}, SvgColour{"#56B4E9", "7 3"}, SvgColour{"#000000", "7 3"}, SvgColour{"#7F5539", "7 3"}};

/// Draws the names of the runs with their colours, in as many rows as necessary. Returns the bottom of the last row.
double draw_legend(SvgDocument& document, const std::vector<Run>& runs, double width, double top) {
  constexpr double kSize = 12, kSwatch = 22;
  double x = kEdge, y = top + kSize;
  const auto add = [&](const Run& run, const std::string& name) {
    const double length = kSwatch + text_width(name, kSize) + 22;
    if (x > kEdge && x + length > width - kEdge) {
      x = kEdge;
      y += kSize + 6;
    }
    document.line(x, y - 4, x + kSwatch - 5, y - 4, svg_stroke(run));
    document.text(x + kSwatch, y, name, {.size = kSize});
    x += length;
  };
  size_t grey = 0;
  for (const Run& run : runs) {
    if (run.colour) {
      const size_t room = size_t(std::max(8.0, (width - 60) / kSize));
      const std::string name = shortened(run.name, room);
      const size_t left = room - std::min(room, characters_in(name) + 2);
      constexpr size_t kParametersLeast = 12;
      add(run, run.parameters.empty() || left < kParametersLeast ? name : name + ": " + cut_text(run.parameters, left));
    } else {
      ++grey;
    }
  }
  if (grey > 0) add(Run{}, std::to_string(grey) + " more runs");
  return y + 12;
}

std::vector<std::string> note_lines(const std::vector<std::string>& notes, double width) {
  std::vector<std::string> lines;
  const size_t most = size_t(std::max(10.0, width / (10 * 0.55)));
  for (std::string note : notes) {
    while (characters_in(note) > most) {
      const size_t space = note.rfind(' ', most);
      if (space == std::string::npos || space == 0) break;
      lines.push_back(note.substr(0, space));
      note.erase(0, space + 1);
    }
    lines.push_back(note);
  }
  return lines;
}

}  // namespace

std::string_view svg_colour(const Run& run) {
  return run.colour ? kSvgColours[*run.colour % kSvgColours.size()].colour : "#AAAAAA";
}

std::string svg_stroke(const Run& run) {
  std::string attributes = "fill=\"none\" stroke=\"" + std::string(svg_colour(run)) + "\" stroke-width=\"" +
                           (run.colour ? "2" : "1") + "\" stroke-linejoin=\"round\"";
  if (run.colour && !kSvgColours[*run.colour % kSvgColours.size()].dashes.empty()) {
    attributes += attribute("stroke-dasharray", kSvgColours[*run.colour % kSvgColours.size()].dashes);
  }
  return attributes;
}

Box svg_frame(SvgDocument& document, const std::string& title, const std::vector<std::string>& notes, Box box) {
  document.text(box.x, box.y + 13, shortened(title, size_t(std::max(8.0, box.width / 7.6))), {.size = 13, .bold = true});
  const std::vector<std::string> lines = note_lines(notes, box.width);
  const size_t fitting = std::min(lines.size(), size_t(std::max(0.0, box.height / 3 / kNoteLine)));
  const double bottom = box.y + box.height - double(fitting) * kNoteLine;
  for (size_t i = 0; i < fitting; ++i) {
    document.text(box.x, bottom + double(i + 1) * kNoteLine - 2, lines[i], {.size = 10, .colour = "#666666"});
  }
  return {box.x, box.y + 22, box.width, bottom - box.y - 22};
}

std::string svg_figure(const Figure& figure, const SvgSize& size) {
  SvgDocument document;
  double top = kEdge;
  if (!figure.title.empty()) {
    document.text(kEdge, top + 16, figure.title, {.size = 17, .bold = true});
    top += 28;
  }
  if (figure.runs.size() > 1 && !figure.lines.empty()) top = draw_legend(document, figure.runs, size.width, top);
  const std::vector<std::string> notes = note_lines(figure.notes, size.width - 2 * kEdge);
  const double bottom = kEdge + double(notes.size()) * kNoteLine;
  const size_t panels = figure.lines.size() + figure.grids.size();
  const size_t columns = std::clamp<size_t>(size_t(size.width / 440), 1, std::clamp<size_t>(panels, 1, 3));
  const size_t rows = (panels + columns - 1) / columns;
  const double width = (size.width - 2 * kEdge - double(columns - 1) * kGap) / double(columns);
  double height = panels == 1 ? std::clamp(width * 0.45, 240.0, 460.0) : 270;
  const bool square = !figure.grids.empty() || (!figure.lines.empty() && figure.lines.front().square);
  if (square) height = std::clamp(width * 0.85, 260.0, 640.0);
  if (size.height) height = (*size.height - top - bottom - double(rows) * kGap) / double(std::max<size_t>(rows, 1));
  height = std::max(height, 110.0);
  for (size_t i = 0; i < panels; ++i) {
    const Box box{kEdge + double(i % columns) * (width + kGap), top + kGap / 2 + double(i / columns) * (height + kGap),
                  width, height};
    if (i < figure.lines.size()) {
      constexpr double kLabels = 130;  // Room for the labels beside the lines.
      const bool narrower = figure.lines[i].square && box.width > box.height + kLabels;
      const Box fitted = narrower ? Box{box.x, box.y, box.height + kLabels, box.height} : box;
      svg_lines(document, figure.lines[i], figure.runs, fitted);
    } else {
      svg_grid(document, figure.grids[i - figure.lines.size()], box);
    }
  }
  double y = top + double(rows) * (height + kGap);
  for (const std::string& note : notes) document.text(kEdge, y += kNoteLine, note, {.size = 10, .colour = "#666666"});
  return document.finish(size.width, std::max(size.height.value_or(0), y + kEdge),
                         figure.title.empty() ? "Runs of Shoal" : figure.title);
}

}  // namespace shoal::cli::plot
