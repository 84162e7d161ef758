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
  /// Both sizes are in characters.
  BrailleCanvas(int columns, int rows);
  int dots_across() const { return columns_ * 2; }
  int dots_down() const { return rows_ * 4; }

  /// Sets a dot. Positions count from the upper left; dots outside of the canvas are ignored. A character has the colour of
  /// the dot that was set last in it.
  void dot(int x, int y, std::optional<size_t> colour);
  /// Draws a straight line by Bresenham's algorithm. Both ends must lie on the canvas.
  void line(int x0, int y0, int x1, int y1, std::optional<size_t> colour);
  /// Replaces the character that contains this dot by a letter.
  void letter(int x, int y, char letter, std::optional<size_t> colour);

  /// Returns one text for each row. With `colours`, coloured characters are enclosed in ANSI escape sequences.
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

/// Returns `text` in a colour of the terminal; the colours repeat after eight. Without `colour` the text is grey.
std::string coloured_text(const std::string& text, std::optional<size_t> colour);

}  // namespace shoal::cli::plot
