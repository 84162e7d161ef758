// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Draws histograms over the steps of a run as a panel of cells: a column for a span of steps, a row for a span of values.
#include "plot/curves.h"

namespace shoal::cli::plot {

struct GridSize {
  int columns = 60, rows = 30;
};

/// Draws a panel for each run and tag that matches `tags` (default: all). A column of cells stands for a span of steps, and
/// shows the last histogram before the span ends. The values of a bucket are spread evenly over the bucket. NotFound if no
/// histogram matches; InvalidArgument if there would be more than 64 panels.
Result<Figure> draw_histograms(const std::vector<RunToDraw>& runs, const std::vector<std::string>& tags,
                               const GridSize& size);

/// Divides [low, high] into `rows` equal spans, and returns how many values of `histogram` each has, lowest span first.
/// Takes the part of a bucket beyond the histogram's least and largest value as empty.
std::vector<double> spread_over(const monitor::Histogram& histogram, double low, double high, int rows);

}  // namespace shoal::cli::plot
