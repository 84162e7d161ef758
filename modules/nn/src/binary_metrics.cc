// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/binary_metrics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "example_values.h"
#include "metric_values.h"

namespace shoal::nn {
namespace {

/// The combinations of an example's class and its predicted class.
enum Outcome : size_t { kTruePositives, kFalsePositives, kFalseNegatives, kTrueNegatives, kOutcomes };

/// Whether the label of element e is 1. InvalidArgument if it is neither 0 nor 1.
Result<bool> is_positive(const std::string& who, const TensorView& labels, int64_t e) {
  const double label = number_at(labels, e);
  if (label == 0 || label == 1) return label == 1;
  return invalid_argument(who + ": label " + std::to_string(e) + " of a batch is " + std::to_string(label) +
                          "; labels are 0 or 1");
}

Metric counts(const std::string& who, const LabelsAndPredictions& of, const BinaryMetricOptions& options,
              std::function<double(std::span<const double> totals)> value) {
  const Value labels = of.labels, predictions = of.predictions;
  const bool valid = labels.valid() && predictions.valid() && is_numeric(labels.dtype()) && is_numeric(predictions.dtype());
  if (!valid || trimmed(labels.shape()) != trimmed(predictions.shape())) {
    raise(invalid_argument(who + ": labels are " + described(labels) + ", predictions " + described(predictions) +
                           "; expected labels of 0 or 1 and as many predictions"));
  }
  const auto add = [who, threshold = options.threshold](std::span<const TensorView> batch, int64_t e, double weight,
                                                        std::span<double> totals) -> Result<void> {
    SHOAL_TRY(const bool positive, is_positive(who, batch[0], e));
    const bool taken = number_at(batch[1], e) > threshold;
    totals[positive ? (taken ? kTruePositives : kFalseNegatives) : (taken ? kFalsePositives : kTrueNegatives)] += weight;
    return {};
  };
  return metric_of_pairs(who, labels, predictions, options.weights, kOutcomes, add, std::move(value));
}

double part(double of, double other) { return of + other == 0 ? 0 : of / (of + other); }

// The bins ("classes") of a histogram of probabilities. They become narrower towards 0 and 1: for p below 1/2, each
// interval from 2^-(k+1) to 2^-k has 2048 bins of equal width; for p above 1/2 the same holds for 1 - p. So many are needed
// for models that hardly tell the examples apart, such as one at the start of its training: with 32 bins, predictions
// whose logits are spread by 0.005 around those of a base rate of 0.12 give an area of 0.59 instead of 0.88.
constexpr int kHalvings = 40, kBitsPerHalving = 11;
constexpr int kClassesPerSide = (kHalvings << kBitsPerHalving) + 1;
constexpr int kClasses = 2 * kClassesPerSide;

/// Returns the index of the histogram bin that contains p, which is in [0, 0.5]. The upper bits of a float (the exponent
/// and the highest bits of the mantissa), read as an integer, grow by 1 from bin to bin. So the integer of 0.5 minus that
/// of p is the number of bins between 0.5 and p.
int class_below_half(float p) {
  constexpr int kDropped = 23 - kBitsPerHalving;
  const int below = int(std::bit_cast<uint32_t>(0.5f) >> kDropped) - int(std::bit_cast<uint32_t>(p) >> kDropped);
  return std::max(0, kClassesPerSide - 1 - below);
}
int class_of(float p) { return p < 0.5f ? class_below_half(p) : kClasses - 1 - class_below_half(1.0f - p); }

/// The area under the ROC curve. `totals` has the weight of the negatives in each histogram bin of probabilities, then that
/// of the positives. A pair of a positive and a negative in the same bin counts half.
double area_under_curve(std::span<const double> totals) {
  double negatives = 0, positives = 0, area = 0;
  for (size_t i = 0; i < kClasses; ++i) {
    area += totals[kClasses + i] * (negatives + totals[i] / 2);
    negatives += totals[i];
    positives += totals[kClasses + i];
  }
  return negatives == 0 || positives == 0 ? 0 : area / (negatives * positives);
}

/// The part of the area under the precision-recall curve that one histogram bin of probabilities adds. As in Davis and
/// Goadrich, true and false positives grow in proportion, from (tp, fp) by (more_tp, more_fp), while precision is
/// tp / (tp + fp).
double area_between(double tp, double fp, double more_tp, double more_fp) {
  const double growth = 1 + more_fp / more_tp;  // The growth of tp + fp for each further true positive.
  if (tp + fp == 0) return more_tp / growth;
  return more_tp / growth + (tp - (tp + fp) / growth) / growth * std::log1p(growth * more_tp / (tp + fp));
}

double area_under_precision_recall(std::span<const double> totals) {
  double tp = 0, fp = 0, area = 0;
  for (size_t i = kClasses; i-- > 0;) {  // Starts with the highest probability.
    if (totals[kClasses + i] > 0) area += area_between(tp, fp, totals[kClasses + i], totals[i]);
    tp += totals[kClasses + i];
    fp += totals[i];
  }
  return tp == 0 ? 0 : area / tp;
}

/// Counts right and wrong predictions at thresholds that divide [0, 1] evenly. A probability in the same histogram bin as a
/// threshold counts as above the threshold. So each threshold is off by less than the width of a bin, at most 1/8192.
MetricFigure precision_recall_figure(std::span<const double> totals) {
  constexpr size_t kThresholds = 101;
  enum Row : size_t { kTp, kFp, kTn, kFn, kPrecision, kRecall, kRows };
  // All sums begin with the highest bin, so that at threshold 0 the counts of all predictions are these sums, bit for bit.
  double negatives = 0, positives = 0, fp = 0, tp = 0;
  for (size_t bin = kClasses; bin-- > 0;) {
    negatives += totals[bin];
    positives += totals[kClasses + bin];
  }
  MetricFigure figure{.kind = MetricFigure::Kind::kPrecisionRecall,
                      .shape = {int64_t(kRows), int64_t(kThresholds)},
                      .values = std::vector<float>(kRows * kThresholds)};
  size_t bin = kClasses;
  for (size_t i = kThresholds; i-- > 0;) {
    const auto first = size_t(class_of(float(i) / float(kThresholds - 1)));
    while (bin > first) {
      --bin;
      fp += totals[bin];
      tp += totals[kClasses + bin];
    }
    const double column[kRows] = {tp, fp, negatives - fp, positives - tp, part(tp, fp), part(tp, positives - tp)};
    for (size_t row = 0; row < kRows; ++row) figure.values[row * kThresholds + i] = float(column[row]);
  }
  return figure;
}

/// A metric whose `value` is computed from a histogram of the predicted probabilities: `totals` has the weight of the
/// negatives in each bin, then that of the positives.
Metric of_curve(const std::string& who, const LabelsAndPredictions& of, const MetricOptions& options,
                std::function<double(std::span<const double> totals)> value) {
  const Value labels = of.labels, predictions = of.predictions;
  const bool valid = labels.valid() && predictions.valid();
  if (!valid || !is_numeric(labels.dtype()) || predictions.dtype() != DType::kFloat32 ||
      trimmed(labels.shape()) != trimmed(predictions.shape())) {
    raise(invalid_argument(who + ": labels are " + described(labels) + ", predictions " + described(predictions) +
                           "; expected labels of 0 or 1 and float32 probabilities of one shape"));
  }
  const auto add = [who](std::span<const TensorView> batch, int64_t e, double weight,
                         std::span<double> totals) -> Result<void> {
    SHOAL_TRY(const bool positive, is_positive(who, batch[0], e));
    const float p = batch[1].as<float>()[size_t(e)];
    if (!(p >= 0 && p <= 1)) {
      return invalid_argument(who + ": prediction " + std::to_string(e) + " of a batch is " + std::to_string(p) +
                              "; expected a probability, from 0 to 1");
    }
    totals[size_t(class_of(p)) + (positive ? kClasses : 0)] += weight;
    return {};
  };
  return metric_of_pairs(who, labels, predictions, options.weights, 2 * kClasses, add, std::move(value));
}

}  // namespace

Metric binary_accuracy(const LabelsAndPredictions& of, const BinaryMetricOptions& options) {
  return counts("binary_accuracy", of, options, [](std::span<const double> totals) {
    return part(totals[kTruePositives] + totals[kTrueNegatives], totals[kFalsePositives] + totals[kFalseNegatives]);
  });
}

Metric precision(const LabelsAndPredictions& of, const BinaryMetricOptions& options) {
  return counts("precision", of, options,
                [](std::span<const double> totals) { return part(totals[kTruePositives], totals[kFalsePositives]); });
}

Metric recall(const LabelsAndPredictions& of, const BinaryMetricOptions& options) {
  return counts("recall", of, options,
                [](std::span<const double> totals) { return part(totals[kTruePositives], totals[kFalseNegatives]); });
}

Metric accuracy_baseline(Value labels, const MetricOptions& options) {
  Metric metric = mean(labels, options);
  metric.value = [](std::span<const double> totals) {
    return totals[1] == 0 ? 0 : std::max(totals[0] / totals[1], 1 - totals[0] / totals[1]);
  };
  return metric;
}

Metric auc(const LabelsAndPredictions& of, const MetricOptions& options) {
  return of_curve("auc", of, options, area_under_curve);
}

Metric auc_precision_recall(const LabelsAndPredictions& of, const MetricOptions& options) {
  Metric metric = of_curve("auc_precision_recall", of, options, area_under_precision_recall);
  metric.figure = precision_recall_figure;
  return metric;
}

}  // namespace shoal::nn
