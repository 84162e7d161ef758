// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Histograms over the steps of a run as a panel of cells: a column for a span of steps, a row for a span of values.
#include "plot/curves.h"

namespace shoal::cli::plot {

struct GridSize {
  int columns = 60, rows = 30;
};

/// A panel for each run and tag that fits `tags` (default: all). Each column has the newest histogram up to its end. The values of a
/// bucket are spread evenly over it. NotFound if no run has histograms that fit; InvalidArgument if there would be more than 64 panels.
Result<Figure> draw_histograms(const std::vector<RunToDraw>& runs, const std::vector<std::string>& tags,
                               const GridSize& size);

/// How much of `histogram` is in each of `rows` equal spans of [low, high], the lowest first. What buckets cover beyond the least
/// and the largest value of the histogram is empty.
std::vector<double> spread_over(const monitor::Histogram& histogram, double low, double high, int rows);

}  // namespace shoal::cli::plot
