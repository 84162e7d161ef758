// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Draws confusion matrices of evaluations as panels of cells: a row for each label, a column for each prediction.
#include "plot/curves.h"

namespace shoal::cli::plot {

/// A confusion matrix of `classes` rows and columns. `counts` has its rows one after another.
struct Confusion {
  int64_t step = 0;
  int classes = 0;
  std::vector<double> counts;
};

/// Returns the newest matrices of a run, with keys "eval" or "eval/head". A matrix comes from a tensor with the plug-in
/// shoal_confusion_matrix, or from scalars "confusion/<label>/<prediction>" of one step.
std::map<std::string, Confusion> confusions_of(const History& history);

/// Draws a panel for each confusion matrix of each run. `tags`: patterns for the names of matrices; if empty, draws all.
/// A cell's colour shows its share of the sum of its row, which has all examples of one label. NotFound if no run has a
/// matrix to draw.
Result<Figure> draw_confusions(const std::vector<RunToDraw>& runs, const std::vector<std::string>& tags);

}  // namespace shoal::cli::plot
