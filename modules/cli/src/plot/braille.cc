// SPDX-License-Identifier: Apache-2.0
#include "plot/braille.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace shoal::cli::plot {
namespace {

/// The bits of the dots in Unicode's order: rows from the top, each with its left and right dot.
constexpr uint8_t kDotBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

std::string braille_character(uint8_t dots) {
  if (dots == 0) return " ";
  const uint32_t code = 0x2800u + dots;
  return {char(0xe0 | (code >> 12)), char(0x80 | ((code >> 6) & 0x3f)), char(0x80 | (code & 0x3f))};
}

/// SGR codes, one for each coloured run: blue, yellow, green, magenta, cyan, red, the terminal's bright foreground, dark blue.
constexpr std::array<const char*, 8> kColourCodes{"94", "33", "32", "95", "36", "91", "1", "34"};
constexpr const char* kGreyCode = "90";

}  // namespace

std::string coloured_text(const std::string& text, std::optional<size_t> colour) {
  return std::string("\x1b[") + (colour ? kColourCodes[*colour % kColourCodes.size()] : kGreyCode) + "m" + text + "\x1b[0m";
}

BrailleCanvas::BrailleCanvas(int columns, int rows)
    : columns_(std::max(columns, 1)), rows_(std::max(rows, 1)), cells_(size_t(columns_) * size_t(rows_)) {}

BrailleCanvas::CanvasCell* BrailleCanvas::cell_of(int x, int y) {
  if (x < 0 || y < 0 || x >= dots_across() || y >= dots_down()) return nullptr;
  return &cells_[size_t(y / 4) * size_t(columns_) + size_t(x / 2)];
}

void BrailleCanvas::dot(int x, int y, std::optional<size_t> colour) {
  CanvasCell* const cell = cell_of(x, y);
  if (cell == nullptr) return;
  cell->dots |= kDotBits[y % 4][x % 2];
  cell->colour = colour;
}

void BrailleCanvas::line(int x0, int y0, int x1, int y1, std::optional<size_t> colour) {
  const int across = std::abs(x1 - x0), down = std::abs(y1 - y0);
  const int right = x0 < x1 ? 1 : -1, below = y0 < y1 ? 1 : -1;
  for (int error = across - down;;) {
    dot(x0, y0, colour);
    if (x0 == x1 && y0 == y1) return;
    const int twice = 2 * error;
    if (twice > -down) error -= down, x0 += right;
    if (twice < across) error += across, y0 += below;
  }
}

void BrailleCanvas::letter(int x, int y, char letter, std::optional<size_t> colour) {
  CanvasCell* const cell = cell_of(x, y);
  if (cell == nullptr) return;
  cell->letter = letter;
  cell->colour = colour;
}

std::vector<std::string> BrailleCanvas::rows(bool colours) const {
  std::vector<std::string> rows;
  for (int row = 0; row < rows_; ++row) {
    std::string text;
    for (int column = 0; column < columns_; ++column) {
      const CanvasCell& cell = cells_[size_t(row) * size_t(columns_) + size_t(column)];
      const std::string character = cell.letter != 0 ? std::string(1, cell.letter) : braille_character(cell.dots);
      text += colours && character != " " ? coloured_text(character, cell.colour) : character;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    rows.push_back(std::move(text));
  }
  return rows;
}

}  // namespace shoal::cli::plot
