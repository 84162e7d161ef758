// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How each digit is written: strokes through points, in a box of 1 x 1 with y downwards. Several ways per digit, as
/// people have them.
#include <cstddef>
#include <vector>

namespace mnist {

struct Point {
  float x = 0;
  float y = 0;
};
/// A smooth curve through its points; a corner is where one stroke ends and the next begins.
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

/// The ways to write `digit` (0 to 9), at least one.
const std::vector<Glyph>& glyphs_of(int digit);

}  // namespace mnist
