// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reduces the points of a line that has more points than the picture has columns.
#include <vector>

namespace shoal::cli::plot {

/// A point of a line, in any unit. Points are ordered by x. A y that is not finite is a gap.
struct XY {
  double x = 0, y = 0;
  friend bool operator==(const XY&, const XY&) = default;
};

/// Divides [x_low, x_high] into `columns` equal columns. Of the points in each column it keeps the first, the last, the
/// lowest, the highest and the first gap, if there is one, in the order of `points`. So every extreme stays, and the drawn
/// line is the same to the pixel. Lines of at most 4 points a column are returned unchanged.
/// Source: U. Jugel, Z. Jerzak, G. Hackenbroich, V. Markl, M4: A Visualization-Oriented Time Series Data Aggregation (VLDB
/// 2014).
std::vector<XY> reduced(const std::vector<XY>& points, double x_low, double x_high, int columns);

}  // namespace shoal::cli::plot
