// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/binary_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "example_values.h"
#include "metric_values.h"
#include "score_bins.h"

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

enum class ScoreKind : uint8_t { kProbability, kLogit };

/// The area under the ROC curve. A pair of a positive and a negative in the same bin counts half.
double area_under_curve(std::span<const double> totals) {
  double negatives = 0, positives = 0, area = 0;
  for (const ScoreBin& bin : ascending_bins(totals)) {
    area += bin.positives * (negatives + bin.negatives / 2);
    negatives += bin.negatives;
    positives += bin.positives;
  }
  return negatives == 0 || positives == 0 ? 0 : area / (negatives * positives);
}

/// The part of the area under the precision-recall curve that one bin of scores adds. As in Davis and Goadrich, true and
/// false positives grow in proportion, from (tp, fp) by (more_tp, more_fp), while precision is tp / (tp + fp).
double area_between(double tp, double fp, double more_tp, double more_fp) {
  const double growth = 1 + more_fp / more_tp;  // The growth of tp + fp for each further true positive.
  if (tp + fp == 0) return more_tp / growth;
  return more_tp / growth + (tp - (tp + fp) / growth) / growth * std::log1p(growth * more_tp / (tp + fp));
}

double area_under_precision_recall(std::span<const double> totals) {
  const std::vector<ScoreBin> bins = ascending_bins(totals);
  double tp = 0, fp = 0, area = 0;
  for (auto bin = bins.rbegin(); bin != bins.rend(); ++bin) {
    if (bin->positives > 0) area += area_between(tp, fp, bin->positives, bin->negatives);
    tp += bin->positives;
    fp += bin->negatives;
  }
  return tp == 0 ? 0 : area / tp;
}

/// The infinities of 0 and 1 are not computed, since a division by zero would end a caller that has it trapped.
float logit_of(float probability) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (probability <= 0) return -kInfinity;
  if (probability >= 1) return kInfinity;
  return float(std::log(double(probability) / (1 - double(probability))));
}

/// Counts right and wrong predictions at thresholds that divide the probabilities from 0 to 1 evenly. A score that equals a
/// threshold counts as above it.
MetricFigure precision_recall_figure(std::span<const double> totals, ScoreKind kind) {
  constexpr size_t kThresholds = 101;
  enum Row : size_t { kTp, kFp, kTn, kFn, kPrecision, kRecall, kRows };
  const std::vector<ScoreBin> bins = ascending_bins(totals);
  // All sums begin with the highest bin, so that at threshold 0 the counts of all predictions are these sums, bit for bit.
  double negatives = 0, positives = 0, fp = 0, tp = 0;
  for (auto bin = bins.rbegin(); bin != bins.rend(); ++bin) {
    negatives += bin->negatives;
    positives += bin->positives;
  }
  MetricFigure figure{.kind = MetricFigure::Kind::kPrecisionRecall,
                      .shape = {int64_t(kRows), int64_t(kThresholds)},
                      .values = std::vector<float>(kRows * kThresholds)};
  size_t above = bins.size();
  for (size_t i = kThresholds; i-- > 0;) {
    const float threshold = float(i) / float(kThresholds - 1);
    const double lowest = place_of(kind == ScoreKind::kLogit ? logit_of(threshold) : threshold);
    while (above > 0 && bins[above - 1].place >= lowest) {
      --above;
      fp += bins[above].negatives;
      tp += bins[above].positives;
    }
    const double column[kRows] = {tp, fp, negatives - fp, positives - tp, part(tp, fp), part(tp, positives - tp)};
    for (size_t row = 0; row < kRows; ++row) figure.values[row * kThresholds + i] = float(column[row]);
  }
  return figure;
}

/// InvalidArgument if a metric cannot take `score`, which is element e of a batch.
Result<void> check_score(const std::string& who, ScoreKind kind, float score, int64_t e) {
  if (kind == ScoreKind::kLogit ? !std::isnan(score) : score >= 0 && score <= 1) return {};
  const bool logit = kind == ScoreKind::kLogit;
  return invalid_argument(who + (logit ? ": logit " : ": prediction ") + std::to_string(e) + " of a batch is " +
                          std::to_string(score) +
                          (logit ? "; expected a number" : "; expected a probability, from 0 to 1"));
}

/// A metric whose `value` is computed from the weights of negatives and positives by score (score_bins.h).
Metric of_curve(const std::string& who, Value labels, Value scores, ScoreKind kind, const MetricOptions& options,
                std::function<double(std::span<const double> totals)> value) {
  const bool valid = labels.valid() && scores.valid();
  if (!valid || !is_numeric(labels.dtype()) || scores.dtype() != DType::kFloat32 ||
      trimmed(labels.shape()) != trimmed(scores.shape())) {
    const bool logits = kind == ScoreKind::kLogit;
    raise(invalid_argument(who + ": labels are " + described(labels) + (logits ? ", logits " : ", predictions ") +
                           described(scores) + "; expected labels of 0 or 1 and float32 " +
                           (logits ? "logits" : "probabilities") + " of one shape"));
  }
  const auto add = [who, kind](std::span<const TensorView> batch, int64_t e, double weight,
                               std::span<double> totals) -> Result<void> {
    SHOAL_TRY(const bool positive, is_positive(who, batch[0], e));
    const float score = batch[1].as<float>()[size_t(e)];
    SHOAL_TRY_VOID(check_score(who, kind, score, e));
    add_score(totals, score, positive, weight);
    return {};
  };
  Metric metric = metric_of_pairs(who, labels, scores, options.weights, kScoreBinTotals, add, std::move(value));
  metric.merge = merge_score_bins;
  return metric;
}

Metric roc_metric(Value labels, Value scores, ScoreKind kind, const MetricOptions& options) {
  return of_curve("auc", labels, scores, kind, options, area_under_curve);
}

Metric precision_recall_metric(Value labels, Value scores, ScoreKind kind, const MetricOptions& options) {
  Metric metric = of_curve("auc_precision_recall", labels, scores, kind, options, area_under_precision_recall);
  metric.figure = [kind](std::span<const double> totals) { return precision_recall_figure(totals, kind); };
  return metric;
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
  return roc_metric(of.labels, of.predictions, ScoreKind::kProbability, options);
}

Metric auc(const LabelsAndLogits& of, const MetricOptions& options) {
  return roc_metric(of.labels, of.logits, ScoreKind::kLogit, options);
}

Metric auc_precision_recall(const LabelsAndPredictions& of, const MetricOptions& options) {
  return precision_recall_metric(of.labels, of.predictions, ScoreKind::kProbability, options);
}

Metric auc_precision_recall(const LabelsAndLogits& of, const MetricOptions& options) {
  return precision_recall_metric(of.labels, of.logits, ScoreKind::kLogit, options);
}

}  // namespace shoal::nn
