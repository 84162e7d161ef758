// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Draws scalars of several runs as panels of lines: one panel for each tag.
#include <optional>
#include <string>
#include <vector>

#include "plot/figure.h"
#include "plot/history.h"

namespace shoal::cli::plot {

enum class XAxis { kStep, kTime, kExamples };

struct CurveOptions {
  /// Patterns with * and ?. A pattern matches a tag ("loss") in any folder, or a tag with the name of its folder in front
  /// ("eval/loss"; "train/loss" for training). Default: the loss of training, and loss, accuracy and auc of evaluations.
  std::vector<std::string> tags;
  XAxis x = XAxis::kStep;
  double smooth = 0;  ///< The weight of smoothed() for curves of training, in [0, 1).
  bool log_y = false;
};

/// A run to draw.
struct RunToDraw {
  const History* history = nullptr;
  std::string name;
  std::optional<double> examples_per_step;  ///< The number of examples in a step, for XAxis::kExamples.
  std::string parameters = {};              ///< As in Run.
};

/// Returns the keys of `all` that match the patterns, in the order of the patterns. `all` has the keys of all runs, in
/// order.
std::vector<Key> chosen_keys(const std::vector<Key>& all, const std::vector<std::string>& patterns);
/// Returns the patterns that an empty CurveOptions::tags stands for.
std::vector<std::string> default_patterns();

/// Draws the curves. NotFound if no run has values of the tags; the message lists the tags that exist. FailedPrecondition
/// if the axis needs the number of examples per step and this is unknown. InvalidArgument if the patterns match more than
/// 64 tags.
Result<Figure> draw_curves(const std::vector<RunToDraw>& runs, const CurveOptions& options);

/// Returns the runs with names and colours. Up to eight runs have a colour each. Of more runs only seven have a colour:
/// those with the best values of `keys`.
std::vector<Run> coloured_runs(const std::vector<RunToDraw>& runs, const std::vector<Key>& keys);

}  // namespace shoal::cli::plot
