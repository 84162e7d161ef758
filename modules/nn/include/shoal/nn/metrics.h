// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Metrics, which an evaluation reports. They are accumulated over all batches, in double precision on the host. Metrics
/// take their operands by name (labels_and.h), and also weights: accuracy({.labels = y, .predictions = ids}, {.weights =
/// w}).
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

/// A curve or a matrix, computed from a metric's totals. Event files show it together with the metric's value.
struct MetricFigure {
  enum class Kind : uint8_t {
    /// [6, thresholds], for thresholds that divide [0, 1] evenly. Rows: true positives, false positives, true negatives,
    /// false negatives (summed weights), precision, recall.
    kPrecisionRecall,
    kConfusionMatrix,  ///< [classes, classes], summed weights. Row: the label, column: the prediction.
  };
  Kind kind = Kind::kPrecisionRecall;
  std::vector<int64_t> shape{};
  std::vector<float> values{};  ///< Row by row.
};

/// A metric consists of a few totals over examples and a function of these totals, so batches of different sizes get the
/// right weight, and parts of an evaluation can be merged. This value type describes which values to fetch and how to add
/// them to the totals. A MetricAccumulator contains the totals themselves.
struct Metric {
  /// The values that `update` gets for every batch, in this order.
  std::vector<Value> inputs;
  /// The totals before the first batch, for example {0, 0}.
  std::vector<double> start;
  /// Adds a batch to the totals. `batch` has the values of `inputs`.
  std::function<Result<void>(std::span<const TensorView> batch, std::span<double> totals)> update;
  /// Computes the metric from the totals. It also has to work for `start` (an evaluation without batches).
  std::function<double(std::span<const double> totals)> value;
  /// Merges `other`, the totals of another part of the evaluation, into `totals`. Empty: adds element by element.
  std::function<void(std::span<double> totals, std::span<const double> other)> merge;
  /// True for a count: it is printed as a whole number, which a double represents exactly up to 2^53. With fractional
  /// weights its value may have a fraction.
  bool is_count = false;
  /// Computes a curve or matrix from the totals. Also has to work for the totals in `start`, after an evaluation without
  /// batches. Empty: the metric has no figure.
  std::function<MetricFigure(std::span<const double> totals)> figure = {};
  /// The number of further totals, which follow those in `start` and are 0 before the first batch. A large histogram takes
  /// its memory only once in this way.
  size_t zeros = 0;
};

/// The running totals of one metric. A value type; not thread-safe.
class MetricAccumulator {
 public:
  /// Copies the parts of the metric that it needs, so the graph may be destroyed afterwards.
  explicit MetricAccumulator(const Metric& metric);

  /// Adds a batch: the values of Metric::inputs, in that order. Returns the metric's own error if the batch does not fit.
  Result<void> update(std::span<const TensorView> batch);
  double value() const;
  /// The metric's figure for the totals so far; nothing if the metric has no figure.
  std::optional<MetricFigure> figure() const;
  void reset();
  /// Merges an accumulator of the same metric into this one.
  void merge(const MetricAccumulator& other);
  std::span<const double> totals() const;

 private:
  size_t input_count_;
  std::vector<double> start_;
  size_t zeros_;
  std::vector<double> totals_;
  decltype(Metric::update) update_;
  decltype(Metric::value) value_;
  decltype(Metric::merge) merge_;
  decltype(Metric::figure) figure_;
};

struct MetricOptions {
  /// Nothing (all are 1), one weight per value or label, or one per row: [batch] or [batch, 1]; any numeric type.
  Value weights = {};
};

/// sum(weight * value) / sum(weight) over all elements; 0 if the weights sum to 0 or there were no batches.
///
///   values   any shape, any numeric type
///
/// Raises InvalidArgument, naming both shapes, if values and weights do not fit.
Metric mean(Value values, const MetricOptions& options = {});

/// The weighted fraction of the elements whose label and prediction are equal; 0 if the weights sum to 0.
///
///   labels, predictions  integers, equal numbers of elements, e.g. [batch] or [batch, 1]
///
/// Raises InvalidArgument, naming both shapes or types, if they do not fit.
Metric accuracy(const LabelsAndPredictions& of, const MetricOptions& options = {});

struct TopKOptions {
  int64_t k = 0;       ///< At least 1. There is no default.
  Value weights = {};  ///< One weight per label, as in MetricOptions.
};

/// The weighted fraction of the examples whose label is among the k classes with the highest logits; a class with the same
/// logit as the k-th counts too. 0 if the weights sum to 0.
///
///   labels   [...] or [..., 1]  ids in [0, classes): int64, int32 or uint8
///   logits   [..., classes]     float32; probabilities are accepted, too
///
/// Raises InvalidArgument if shapes or types do not fit or k < 1; a label out of range ends the evaluation with
/// InvalidArgument.
Metric top_k_accuracy(const LabelsAndLogits& of, const TopKOptions& options);

struct ConfusionOptions {
  int64_t classes = 0;  ///< At least 1. There is no default.
  Value weights = {};   ///< As in MetricOptions.
};
/// Makes one metric for each pair of label and predicted class: the number (the sum of the weights) of the examples with
/// this pair. All classes * classes metrics are counts (Metric::is_count), named "confusion/<label>/<prediction>".
/// Arguments as in accuracy(). Also raises InvalidArgument if classes < 1.
std::vector<std::pair<std::string, Metric>> confusion_matrix(const LabelsAndPredictions& of,
                                                             const ConfusionOptions& options);

/// As accuracy(), but with the confusion matrix as the metric's figure. Pairs with an id outside [0, classes) count in
/// the accuracy alone. Arguments as in accuracy(). Raises InvalidArgument, too, if classes is not in [1, 1000].
Metric class_accuracy(const LabelsAndPredictions& of, const ConfusionOptions& options);

/// A user's own metric in one line: the mean of the results of `of_batch`, weighted by the number of rows of each batch
/// (the first size of inputs[0]; a scalar counts as one row). `of_batch` gets the values of `inputs`.
Metric batch_mean(std::vector<Value> inputs, std::function<Result<double>(std::span<const TensorView>)> of_batch);

}  // namespace shoal::nn
