// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Draws curves over the thresholds of a binary classifier: true against false positives (ROC), and precision against
/// recall.
///
/// The data are tensors [6, thresholds] with TensorBoard's plug-in pr_curves: rows of true positives, false positives, true
/// negatives, false negatives, precision and recall, each by ascending threshold.
#include "plot/curves.h"

namespace shoal::cli::plot {

enum class RateCurve { kRoc, kPrecisionRecall };

/// The points of a curve, and the area below it.
struct Rates {
  std::vector<XY> points;  ///< The points by ascending x.
  double area = 0;
};

/// Returns the ROC curve: FP / (FP + TN) against TP / (TP + FN), from (0, 0) to (1, 1), with the area by trapezoids.
/// Nothing if there are no positives or no negatives. Source: T. Fawcett, An introduction to ROC analysis (2006).
std::optional<Rates> roc_of(const Table& table);

/// Returns the curve of recall against precision, TP / (TP + FP), without thresholds that no example exceeds. The area is
/// the average precision: the sum of each gain in recall times the precision there. Nothing if there are no positives.
std::optional<Rates> precision_recall_of(const Table& table);

/// Draws a panel for each tag that matches `tags` (default: all), with a line for each run. NotFound if there is none.
Result<Figure> draw_rates(const std::vector<RunToDraw>& runs, const std::vector<std::string>& tags, RateCurve curve);

}  // namespace shoal::cli::plot
