// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes SVG 1.1 as text (https://www.w3.org/TR/SVG11/). Positions and sizes are in pixels from the upper left.
#include <string>
#include <string_view>

namespace shoal::cli::plot {

enum class Anchor { kStart, kMiddle, kEnd };

struct TextStyle {
  double size = 11;
  Anchor anchor = Anchor::kStart;
  bool bold = false;
  std::string_view colour = "#333333";
};

class SvgDocument {
 public:
  /// Adds a line of text, escaped.
  void text(double x, double y, std::string_view text, const TextStyle& style);
  void rectangle(double x, double y, double width, double height, std::string_view attributes);
  void line(double x0, double y0, double x1, double y1, std::string_view attributes);
  void circle(double x, double y, double radius, std::string_view attributes);
  /// Adds a path; `data` are the path's commands.
  void path(std::string_view data, std::string_view attributes);
  void open_group(std::string_view attributes);
  void close_group();

  /// Returns the whole file, with a white background. Its second line, kSvgMark, identifies files of this program.
  std::string finish(double width, double height, std::string_view title) const;

 private:
  std::string body_;
};

/// The second line of every SVG file that `shoal plot` writes. It shows that such a file may be overwritten.
inline constexpr std::string_view kSvgMark = "<!-- drawn by shoal plot -->";

/// Formats a coordinate with at most two decimals: "12.5", "300".
std::string coordinate(double value);
/// Returns ` name="value"`, escaped, with the blank in front.
std::string attribute(std::string_view name, std::string_view value);
/// Returns the estimated width of a text in pixels: a little more than most fonts need.
double text_width(std::string_view text, double size);

}  // namespace shoal::cli::plot
