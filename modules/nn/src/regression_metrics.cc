// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/regression_metrics.h"

#include <cmath>

#include "example_values.h"
#include "metric_values.h"

namespace shoal::nn {
namespace {

/// Adds one element to `totals`; called for every element.
using Add = void (*)(double label, double prediction, double weight, std::span<double> totals);

Metric of_pairs(const std::string& who, const LabelsAndPredictions& of, const MetricOptions& options, size_t totals,
                Add add) {
  const Value labels = of.labels, predictions = of.predictions;
  const bool valid = labels.valid() && predictions.valid() && is_numeric(labels.dtype()) && is_numeric(predictions.dtype());
  if (!valid || trimmed(labels.shape()) != trimmed(predictions.shape())) {
    raise(invalid_argument(who + ": labels are " + described(labels) + ", predictions " + described(predictions) +
                           "; expected as many numbers"));
  }
  const auto add_element = [add](std::span<const TensorView> batch, int64_t e, double weight,
                                 std::span<double> sums) -> Result<void> {
    add(number_at(batch[0], e), number_at(batch[1], e), weight, sums);
    return {};
  };
  return metric_of_pairs(who, labels, predictions, options.weights, totals, add_element);
}

void add_absolute(double label, double prediction, double weight, std::span<double> totals) {
  totals[0] += weight * std::abs(prediction - label);
  totals[1] += weight;
}

void add_square(double label, double prediction, double weight, std::span<double> totals) {
  totals[0] += weight * (prediction - label) * (prediction - label);
  totals[1] += weight;
}

// The totals of r_squared(): the sum of the weights, the labels' mean, the weighted sum of the squared distances of the
// labels from that mean, and the weighted sum of the squared errors of the predictions.
enum Moment : size_t { kWeights, kMean, kSquares, kErrors, kMoments };

/// Merges some labels into `totals`: `weight` is the sum of their weights; `mean` and `squares` are as in Moment.
void join(std::span<double> totals, double weight, double mean, double squares) {
  const double sum = totals[kWeights] + weight;
  if (sum == 0) return;
  const double apart = mean - totals[kMean];
  totals[kSquares] += squares + apart * apart * totals[kWeights] * weight / sum;
  totals[kMean] += apart * weight / sum;
  totals[kWeights] = sum;
}

void add_to_r_squared(double label, double prediction, double weight, std::span<double> totals) {
  join(totals, weight, label, 0);
  totals[kErrors] += weight * (prediction - label) * (prediction - label);
}

}  // namespace

Metric mean_absolute_error(const LabelsAndPredictions& of, const MetricOptions& options) {
  return of_pairs("mean_absolute_error", of, options, 2, add_absolute);
}

Metric root_mean_squared_error(const LabelsAndPredictions& of, const MetricOptions& options) {
  Metric metric = of_pairs("root_mean_squared_error", of, options, 2, add_square);
  metric.value = [](std::span<const double> totals) { return std::sqrt(ratio(totals)); };
  return metric;
}

Metric r_squared(const LabelsAndPredictions& of, const MetricOptions& options) {
  Metric metric = of_pairs("r_squared", of, options, kMoments, add_to_r_squared);
  metric.value = [](std::span<const double> totals) {
    if (totals[kSquares] > 0) return 1 - totals[kErrors] / totals[kSquares];
    return totals[kErrors] > 0 || totals[kWeights] == 0 ? 0.0 : 1.0;
  };
  metric.merge = [](std::span<double> totals, std::span<const double> other) {
    join(totals, other[kWeights], other[kMean], other[kSquares]);
    totals[kErrors] += other[kErrors];
  };
  return metric;
}

}  // namespace shoal::nn
