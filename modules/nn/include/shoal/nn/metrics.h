// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Metrics: what an evaluation reports, accumulated over all of its batches in double precision on the host. What a metric
/// compares is given by name (labels_and.h), and so are weights: accuracy({.labels = y, .predictions = ids}, {.weights = w}).
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/std_function.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/graph.h"
#include "shoal/graph/labels_and.h"

namespace shoal::nn {

/// What event files have of a metric beside its value: the totals seen as a curve, or as a matrix.
struct MetricFigure {
  enum class Kind : uint8_t {
    /// [6, thresholds], for thresholds that divide [0, 1] evenly. Rows: true positives, false positives, true negatives, false
    /// negatives (summed weights), precision, recall.
    kPrecisionRecall,
    kConfusionMatrix,  ///< [classes, classes], summed weights. Row: the label, column: the prediction.
  };
  Kind kind = Kind::kPrecisionRecall;
  std::vector<int64_t> shape{};
  std::vector<float> values{};  ///< Row by row.
};

/// A metric is a few totals over examples and a function of them; so uneven batches weigh as they should, and parts of an
/// evaluation merge. A value: describes what to fetch and how to accumulate; a MetricAccumulator does it.
struct Metric {
  /// What every batch's update is given, in this order.
  std::vector<Value> inputs;
  /// Totals before the first batch, e.g. {0, 0}.
  std::vector<double> start;
  /// Adds a batch: `batch` holds the values of `inputs`.
  std::function<Result<void>(std::span<const TensorView> batch, std::span<double> totals)> update;
  /// The metric so far. It must also answer for `start` (an evaluation without batches).
  std::function<double(std::span<const double> totals)> value;
  /// Joins the totals of another part of the same evaluation into these; empty: adds them.
  std::function<void(std::span<double> totals, std::span<const double> other)> merge;
  /// True for a number of things: it is printed as a whole number, which a double holds exactly up to 2^53. With weights
  /// that are not whole its value may have a fraction.
  bool is_count = false;
  /// Empty: the metric has no figure. It must also answer for `start`.
  std::function<MetricFigure(std::span<const double> totals)> figure = {};
};

/// One metric's running totals. A value; not thread-safe.
class MetricAccumulator {
 public:
  /// Keeps what it needs of the metric: the graph may be gone.
  explicit MetricAccumulator(const Metric& metric);

  /// `batch`: the values of Metric::inputs, in that order. The metric's own error if the batch does not fit.
  Result<void> update(std::span<const TensorView> batch);
  double value() const;
  /// Nothing for a metric without a figure.
  std::optional<MetricFigure> figure() const;
  void reset();
  /// Joins an accumulator of the same metric.
  void merge(const MetricAccumulator& other);
  std::span<const double> totals() const;

 private:
  size_t input_count_;
  std::vector<double> start_;
  std::vector<double> totals_;
  decltype(Metric::update) update_;
  decltype(Metric::value) value_;
  decltype(Metric::merge) merge_;
  decltype(Metric::figure) figure_;
};

struct MetricOptions {
  /// None (all 1), as many as there are values or labels, or one per row: [batch] or [batch, 1]; any numeric type.
  Value weights = {};
};

/// sum(weight * value) / sum(weight) over all elements; 0 if the weights sum to 0 or there were no batches.
///
///   values   any shape, any numeric type
///
/// Raises InvalidArgument with both shapes if values and weights do not fit.
Metric mean(Value values, const MetricOptions& options = {});

/// The weighted part of the elements where label and prediction are equal; 0 if the weights sum to 0.
///
///   labels, predictions  integers, as many elements each, e.g. [batch] or [batch, 1]
///
/// Raises InvalidArgument with both shapes or types if they do not fit.
Metric accuracy(const LabelsAndPredictions& of, const MetricOptions& options = {});

struct TopKOptions {
  int64_t k = 0;       ///< At least 1. It has no default.
  Value weights = {};  ///< As in MetricOptions, per label.
};

/// The weighted part of the examples whose label is among the k classes of the highest logits; a class as high as the k-th
/// counts. 0 if the weights sum to 0.
///
///   labels   [...] or [..., 1]  ids in [0, classes): int64, int32 or uint8
///   logits   [..., classes]     float32; probabilities do as well
///
/// Raises InvalidArgument if shapes or types do not fit or k < 1; a label out of range ends the evaluation with
/// InvalidArgument.
Metric top_k_accuracy(const LabelsAndLogits& of, const TopKOptions& options);

struct ConfusionOptions {
  int64_t classes = 0;  ///< At least 1. It has no default.
  Value weights = {};   ///< As in MetricOptions.
};
/// How many examples of each class (summed weights) were taken for each: classes * classes metrics, named
/// "confusion/<label>/<prediction>", which are counts. Arguments as in accuracy(). Raises InvalidArgument, too, if
/// classes < 1.
std::vector<std::pair<std::string, Metric>> confusion_matrix(const LabelsAndPredictions& of,
                                                             const ConfusionOptions& options);

/// accuracy(), with the confusion matrix as its figure. Pairs with an id outside [0, classes) count in the accuracy alone. Arguments
/// as in accuracy(). Raises InvalidArgument, too, if classes is not in [1, 1000].
Metric class_accuracy(const LabelsAndPredictions& of, const ConfusionOptions& options);

/// The mean of what `of_batch` makes of each batch, weighted by the batch's rows (the first size of inputs[0]; a scalar
/// counts as one): a user's own metric in one line. `of_batch` is given the values of `inputs`.
Metric batch_mean(std::vector<Value> inputs, std::function<Result<double>(std::span<const TensorView>)> of_batch);

}  // namespace shoal::nn
