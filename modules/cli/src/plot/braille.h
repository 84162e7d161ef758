// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A canvas of characters, each of 2 by 4 dots: the braille patterns of Unicode, U+2800 to U+28FF.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal::cli::plot {

class BrailleCanvas {
 public:
  /// In characters.
  BrailleCanvas(int columns, int rows);
  int dots_across() const { return columns_ * 2; }
  int dots_down() const { return rows_ * 4; }

  /// Dots count from the upper left; those outside of the canvas are dropped. A character has the colour of its last dot.
  void dot(int x, int y, std::optional<size_t> colour);
  /// A straight line by Bresenham's algorithm. Both ends must be dots of the canvas.
  void line(int x0, int y0, int x1, int y1, std::optional<size_t> colour);
  /// Puts a letter in place of the character that has this dot.
  void letter(int x, int y, char letter, std::optional<size_t> colour);

  /// One text for each row. With `colours`, escape sequences of ANSI around what has a colour.
  std::vector<std::string> rows(bool colours) const;

 private:
  struct CanvasCell {
    uint8_t dots = 0;
    char letter = 0;
    std::optional<size_t> colour;
  };
  CanvasCell* cell_of(int x, int y);

  int columns_, rows_;
  std::vector<CanvasCell> cells_;
};

/// `text` in a colour of terminals; the colours repeat after seven. No colour: grey.
std::string coloured_text(const std::string& text, std::optional<size_t> colour);

}  // namespace shoal::cli::plot
