// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pieces of SVG 1.1 as text (https://www.w3.org/TR/SVG11/). Positions and sizes are pixels from the upper left.
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
  /// The text is written on one line, escaped.
  void text(double x, double y, std::string_view text, const TextStyle& style);
  void rectangle(double x, double y, double width, double height, std::string_view attributes);
  void line(double x0, double y0, double x1, double y1, std::string_view attributes);
  void circle(double x, double y, double radius, std::string_view attributes);
  /// `data` are the commands of a path.
  void path(std::string_view data, std::string_view attributes);
  void open_group(std::string_view attributes);
  void close_group();

  /// The whole file, with a white background. Files that this program wrote are known by their second line.
  std::string finish(double width, double height, std::string_view title) const;

 private:
  std::string body_;
};

/// The second line of every file.
inline constexpr std::string_view kSvgMark = "<!-- drawn by shoal plot -->";

/// "12.5", "300": two decimals at most.
std::string coordinate(double value);
/// `name="value"`, escaped, with a blank before.
std::string attribute(std::string_view name, std::string_view value);
/// How wide a text of this size is about, in pixels: fonts differ, so that it is a little more than most need.
double text_width(std::string_view text, double size);

}  // namespace shoal::cli::plot
