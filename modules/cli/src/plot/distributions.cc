// SPDX-License-Identifier: Apache-2.0
#include "plot/distributions.h"

#include <algorithm>
#include <cmath>

#include "plot/clean_text.h"

namespace shoal::cli::plot {
namespace {

constexpr size_t kHistogramPanelsMax = 64;

using Histograms = std::vector<Timed<monitor::Histogram>>;

Range range_of(const Histograms& histograms) {
  Range range{INFINITY, -INFINITY};
  for (const auto& histogram : histograms) {
    if (!(histogram.value.count > 0) || !std::isfinite(histogram.value.min) || !std::isfinite(histogram.value.max))
      continue;
    range = {std::min(range.low, histogram.value.min), std::max(range.high, histogram.value.max)};
  }
  if (!(range.low <= range.high)) return {0, 1};
  return range.low < range.high ? range : widened(range, 0, false);
}

/// Returns the histogram to draw in each column of the plot. The columns divide the range of steps into equal parts. There
/// are at most `most` of them, and not more than histograms.
std::vector<const monitor::Histogram*> columns_of(const Histograms& histograms, int most) {
  const double first = double(histograms.front().step), last = double(histograms.back().step);
  const int columns = std::min<int>(most, int(std::min<size_t>(histograms.size(), 100000)));
  std::vector<const monitor::Histogram*> shown;
  size_t at = 0;
  for (int column = 0; column < columns; ++column) {
    const double end = first + (last - first) * (column + 1) / columns;
    while (at + 1 < histograms.size() && double(histograms[at + 1].step) <= end) ++at;
    shown.push_back(&histograms[at].value);
  }
  return shown;
}

GridPanel histogram_panel(const std::string& title, const Histograms& histograms, const GridSize& size) {
  GridPanel panel{.title = title, .x_label = "step", .y_label = "value", .rows = size.rows};
  const Range range = range_of(histograms);
  const std::vector<const monitor::Histogram*> columns = columns_of(histograms, size.columns);
  panel.columns = int(columns.size());
  panel.shades.assign(size_t(panel.rows) * columns.size(), 0);
  double most = 0;
  for (size_t column = 0; column < columns.size(); ++column) {
    const std::vector<double> counts = spread_over(*columns[column], range.low, range.high, panel.rows);
    for (int row = 0; row < panel.rows; ++row) {
      const double share = columns[column]->count > 0 ? counts[size_t(row)] / columns[column]->count : 0;
      panel.shades[size_t(panel.rows - 1 - row) * columns.size() + column] = share;
      most = std::max(most, share);
    }
  }
  // The square root makes the thin ends of distributions visible.
  for (double& shade : panel.shades) shade = most > 0 ? std::sqrt(std::max(shade, 0.0) / most) : 0;
  const Axis y(range, false, std::max(2, size.rows / 6));
  for (const Tick& tick : y.ticks()) panel.y_ticks.push_back({(1 - y.place(tick.value)) * panel.rows, tick.label});
  std::reverse(panel.y_ticks.begin(), panel.y_ticks.end());
  const Range steps{double(histograms.front().step), double(histograms.back().step)};
  if (steps.low < steps.high) {
    const Axis x(steps, false, 5);
    for (const Tick& tick : x.ticks()) panel.x_ticks.push_back({x.place(tick.value) * panel.columns, tick.label});
  } else {
    panel.x_ticks.push_back({0.5, short_number(steps.low)});
  }
  return panel;
}

}  // namespace

std::vector<double> spread_over(const monitor::Histogram& histogram, double low, double high, int rows) {
  std::vector<double> counts(size_t(rows), 0.0);
  const double row_height = (high - low) / rows;
  for (size_t i = 0; i < std::min(histogram.counts.size(), histogram.limits.size()); ++i) {
    if (!(histogram.counts[i] > 0)) continue;
    const double begin = std::max(i == 0 ? histogram.min : histogram.limits[i - 1], histogram.min);
    const double end = std::min(histogram.limits[i], histogram.max);
    if (!std::isfinite(begin) || !std::isfinite(end)) continue;
    const auto row_of = [&](double value) { return int(std::clamp((value - low) / row_height, 0.0, double(rows - 1))); };
    const int first = row_of(begin), last = row_of(end);
    for (int row = first; row <= last; ++row) {
      const double bottom = std::max(begin, low + row * row_height), top = std::min(end, low + (row + 1) * row_height);
      const double share = end > begin ? std::max(top - bottom, 0.0) / (end - begin) : row == first ? 1 : 0;
      counts[size_t(row)] += histogram.counts[i] * share;
    }
  }
  return counts;
}

Result<Figure> draw_histograms(const std::vector<RunToDraw>& runs, const std::vector<std::string>& tags,
                               const GridSize& size) {
  Figure figure;
  for (const RunToDraw& run : runs) {
    std::vector<Key> keys;
    for (const auto& [key, sequence] : run.history->histograms) {
      if (!sequence.items().empty()) keys.push_back(key);
    }
    for (const Key& key : chosen_keys(keys, tags.empty() ? std::vector<std::string>{"*"} : tags)) {
      if (figure.grids.size() == kHistogramPanelsMax) {
        return invalid_argument("there are more than " + std::to_string(kHistogramPanelsMax) +
                                " histograms to draw; choose some by --tag");
      }
      const std::string title = clean_text(key.text()) + (runs.size() > 1 ? " of " + run.name : "");
      figure.grids.push_back(histogram_panel(title, run.history->histograms.at(key).items(), size));
    }
    figure.runs.push_back({run.name, figure.runs.size()});
  }
  if (figure.grids.empty()) {
    return not_found(std::string("no run has histograms") + (tags.empty() ? "" : " that fit --tag") +
                     "; training writes them for summaries that are no single numbers (EstimatorSpec::summaries)");
  }
  figure.notes.push_back("Darker: more of the values of that step (by the square root of their share).");
  return figure;
}

}  // namespace shoal::cli::plot
