// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The shapes of the digits: strokes through points, in a box of 1 x 1 whose y axis points downwards. Each digit has
/// several shapes, since people write it in several ways.
#include <cstddef>
#include <vector>

namespace mnist {

struct Point {
  float x = 0;
  float y = 0;
};
/// A smooth curve through these points. A corner is made of two strokes: one ends and the next begins there.
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

/// The shapes of `digit` (0 to 9), at least one.
const std::vector<Glyph>& glyphs_of(int digit);

}  // namespace mnist
