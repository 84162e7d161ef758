// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Scalars of several runs as panels of lines: one panel for each tag.
#include <optional>
#include <string>
#include <vector>

#include "plot/figure.h"
#include "plot/history.h"

namespace shoal::cli::plot {

enum class XAxis { kStep, kTime, kExamples };

struct CurveOptions {
  /// Patterns of tags, with * and ?; a pattern is of the tag, of folder/tag ("eval/loss") or of train/tag. Default: the loss of training,
  /// and loss, accuracy and auc of evaluations.
  std::vector<std::string> tags;
  XAxis x = XAxis::kStep;
  double smooth = 0;  ///< The weight of smoothed() for curves of training, in [0, 1).
  bool log_y = false;
};

/// One run to be drawn.
struct RunToDraw {
  const History* history = nullptr;
  std::string name;
  std::optional<double> examples_per_step;  ///< For XAxis::kExamples.
};

/// The keys that the patterns name, in the order of the patterns. `all` are those of all runs, in their order.
std::vector<Key> chosen_keys(const std::vector<Key>& all, const std::vector<std::string>& patterns);
/// The patterns of CurveOptions::tags where it is empty.
std::vector<std::string> default_patterns();

/// NotFound if no run has a value of the tags; the sentence names tags that are there. FailedPrecondition where the number of examples of
/// a step is not known and the axis needs it. InvalidArgument if the patterns name more than 64 tags.
Result<Figure> draw_curves(const std::vector<RunToDraw>& runs, const CurveOptions& options);

/// Runs with their names and colours: up to eight have one each. Of more, the seven whose best values of `keys` are the best have one.
std::vector<Run> coloured_runs(const std::vector<RunToDraw>& runs, const std::vector<Key>& keys);

}  // namespace shoal::cli::plot
