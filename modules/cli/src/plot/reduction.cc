// SPDX-License-Identifier: Apache-2.0
#include "plot/reduction.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace shoal::cli::plot {
namespace {

/// The points [begin, end) lie in one column of the picture. Appends to `out` only the first, the lowest, the highest, the
/// first that is not finite (a gap) and the last of them, so that the curve looks the same.
void add_extremes(const std::vector<XY>& points, size_t begin, size_t end, std::vector<XY>& out) {
  size_t lowest = end, highest = end, gap = end;
  for (size_t i = begin; i < end; ++i) {
    if (!std::isfinite(points[i].y)) {
      if (gap == end) gap = i;
      continue;
    }
    if (lowest == end || points[i].y < points[lowest].y) lowest = i;
    if (highest == end || points[i].y > points[highest].y) highest = i;
  }
  std::array<size_t, 5> kept{begin, lowest, highest, gap, end - 1};
  std::sort(kept.begin(), kept.end());
  size_t previous = end;
  for (const size_t i : kept) {
    if (i != end && i != previous) out.push_back(points[i]);
    previous = i;
  }
}

}  // namespace

std::vector<XY> reduced(const std::vector<XY>& points, double x_low, double x_high, int columns) {
  if (points.size() <= size_t(columns) * 4 || !(x_high > x_low)) return points;
  const auto column_of = [&](const XY& point) {
    return int(std::clamp((point.x - x_low) / (x_high - x_low) * columns, 0.0, double(columns - 1)));
  };
  std::vector<XY> out;
  for (size_t begin = 0; begin < points.size();) {
    size_t end = begin + 1;
    while (end < points.size() && column_of(points[end]) == column_of(points[begin])) ++end;
    add_extremes(points, begin, end, out);
    begin = end;
  }
  return out;
}

}  // namespace shoal::cli::plot
