// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/metrics.h"

#include <algorithm>
#include <string>

#include "example_values.h"
#include "metric_values.h"

namespace shoal::nn {

MetricAccumulator::MetricAccumulator(const Metric& metric)
    : input_count_(metric.inputs.size()),
      start_(metric.start),
      zeros_(metric.zeros),
      update_(metric.update),
      value_(metric.value),
      merge_(metric.merge),
      figure_(metric.figure) {
  if (!update_ || !value_) raise(invalid_argument("a metric needs both an update and a value function"));
  reset();
}

Result<void> MetricAccumulator::update(std::span<const TensorView> batch) {
  SHOAL_CHECK(batch.size() == input_count_);
  return update_(batch, totals_);
}

double MetricAccumulator::value() const { return value_(totals_); }
std::optional<MetricFigure> MetricAccumulator::figure() const {
  return figure_ ? std::optional(figure_(totals_)) : std::nullopt;
}
void MetricAccumulator::reset() {
  totals_.assign(start_.size() + zeros_, 0);
  std::ranges::copy(start_, totals_.begin());
}
std::span<const double> MetricAccumulator::totals() const { return totals_; }

void MetricAccumulator::merge(const MetricAccumulator& other) {
  SHOAL_CHECK(totals_.size() == other.totals_.size());
  if (merge_) return merge_(totals_, other.totals_);
  for (size_t i = 0; i < totals_.size(); ++i) totals_[i] += other.totals_[i];
}

Metric mean(Value values, const MetricOptions& options) {
  const Value weights = options.weights;
  check_values("mean", values);
  check_weights("mean", values, weights);
  Metric metric{.inputs = {values}, .start = {0, 0}, .update = {}, .value = ratio, .merge = {}};
  if (weights.valid()) metric.inputs.push_back(weights);
  metric.update = [](std::span<const TensorView> batch, std::span<double> totals) {
    return for_each_weighted(batch[0].elements(), batch.size() > 1 ? &batch[1] : nullptr,
                             [&](int64_t e, double weight) -> Result<void> {
                               totals[0] += weight * number_at(batch[0], e);
                               totals[1] += weight;
                               return {};
                             });
  };
  return metric;
}

namespace {

/// Raises InvalidArgument unless labels and predictions are class ids of one shape.
void check_ids(const std::string& who, const LabelsAndPredictions& of) {
  const Value labels = of.labels, predictions = of.predictions;
  const bool valid = labels.valid() && predictions.valid();
  if (!valid || !is_integer(labels.dtype()) || !is_integer(predictions.dtype()) ||
      trimmed(labels.shape()) != trimmed(predictions.shape())) {
    raise(invalid_argument(who + ": labels are " + described(labels) + ", predictions " + described(predictions) +
                           "; expected class ids (int64, int32 or uint8) of one shape"));
  }
}

/// A metric of class ids: the fraction of pairs for which counts(label, prediction) is true.
template <class Counts>
Metric of_ids(const std::string& who, const LabelsAndPredictions& of, Value weights, Counts counts) {
  check_ids(who, of);
  const auto add = [counts](std::span<const TensorView> batch, int64_t e, double weight,
                            std::span<double> totals) -> Result<void> {
    totals[0] += counts(id_at(batch[0], e), id_at(batch[1], e)) ? weight : 0;
    totals[1] += weight;
    return {};
  };
  return metric_of_pairs(who, of.labels, of.predictions, weights, 2, add);
}

}  // namespace

Metric accuracy(const LabelsAndPredictions& of, const MetricOptions& options) {
  return of_ids("accuracy", of, options.weights, [](int64_t label, int64_t predicted) { return label == predicted; });
}

Metric class_accuracy(const LabelsAndPredictions& of, const ConfusionOptions& options) {
  // The confusion matrix is shown as a figure, for which a larger one would take too much memory.
  constexpr int64_t kClassesMax = 1000;
  const int64_t classes = options.classes;
  if (classes < 1 || classes > kClassesMax) {
    raise(invalid_argument("class_accuracy: classes is " + std::to_string(classes) + ", expected a number from 1 to " +
                           std::to_string(kClassesMax)));
  }
  check_ids("class_accuracy", of);
  const auto add = [classes](std::span<const TensorView> batch, int64_t e, double weight,
                             std::span<double> totals) -> Result<void> {
    const int64_t label = id_at(batch[0], e), predicted = id_at(batch[1], e);
    totals[0] += label == predicted ? weight : 0;
    totals[1] += weight;
    const bool inside = label >= 0 && label < classes && predicted >= 0 && predicted < classes;
    if (inside) totals[size_t(2 + label * classes + predicted)] += weight;
    return {};
  };
  const auto cells = size_t(classes * classes);
  Metric metric = metric_of_pairs("class_accuracy", of.labels, of.predictions, options.weights, 2 + cells, add);
  metric.figure = [classes](std::span<const double> totals) {
    const std::span<const double> matrix = totals.subspan(2);
    return MetricFigure{.kind = MetricFigure::Kind::kConfusionMatrix,
                        .shape = {classes, classes},
                        .values = std::vector<float>(matrix.begin(), matrix.end())};
  };
  return metric;
}

Metric batch_mean(std::vector<Value> inputs, std::function<Result<double>(std::span<const TensorView>)> of_batch) {
  if (inputs.empty() || !of_batch) raise(invalid_argument("batch_mean: needs inputs and a function"));
  for (const Value& input : inputs) {
    if (!input.valid()) raise(invalid_argument("batch_mean: an input is no value of a graph"));
  }
  Metric metric{.inputs = std::move(inputs), .start = {0, 0}, .update = {}, .value = ratio, .merge = {}};
  metric.update = [of_batch = std::move(of_batch)](std::span<const TensorView> batch,
                                                   std::span<double> totals) -> Result<void> {
    const double rows = batch[0].shape.rank() == 0 ? 1 : double(batch[0].shape[0]);
    SHOAL_TRY(const double number, of_batch(batch));
    totals[0] += rows * number;
    totals[1] += rows;
    return {};
  };
  return metric;
}

Metric top_k_accuracy(const LabelsAndLogits& of, const TopKOptions& options) {
  const Value labels = of.labels, logits = of.logits, weights = options.weights;
  const int64_t k = options.k;
  const bool valid = labels.valid() && logits.valid() && is_integer(labels.dtype()) && logits.dtype() == DType::kFloat32;
  const bool fits = valid && logits.rank() >= 2 && trimmed(labels.shape()) == trimmed(without_last(logits.shape()));
  if (!fits || k < 1) {
    raise(invalid_argument("top_k_accuracy: labels are " + described(labels) + ", logits " + described(logits) + ", k is " +
                           std::to_string(k) + "; expected class ids, float32 with one more axis, and k >= 1"));
  }
  check_weights("top_k_accuracy", labels, weights);
  Metric metric{.inputs = {labels, logits}, .start = {0, 0}, .update = {}, .value = ratio, .merge = {}};
  if (weights.valid()) metric.inputs.push_back(weights);
  metric.update = [k](std::span<const TensorView> batch, std::span<double> totals) -> Result<void> {
    const int64_t classes = batch[1].shape[batch[1].shape.rank() - 1];
    const float* const all = batch[1].as<float>().data();
    const TensorView* const batch_weights = batch.size() > 2 ? &batch[2] : nullptr;
    return for_each_weighted(batch[0].elements(), batch_weights, [&](int64_t e, double weight) -> Result<void> {
      const int64_t label = id_at(batch[0], e);
      if (label < 0 || label >= classes) {
        return invalid_argument("top_k_accuracy: label " + std::to_string(label) + " of a batch is outside [0, " +
                                std::to_string(classes) + ")");
      }
      const float* const row = all + e * classes;
      const auto higher = std::count_if(row, row + classes, [&](float logit) { return logit > row[label]; });
      totals[0] += higher < k ? weight : 0;
      totals[1] += weight;
      return {};
    });
  };
  return metric;
}

std::vector<std::pair<std::string, Metric>> confusion_matrix(const LabelsAndPredictions& of,
                                                             const ConfusionOptions& options) {
  const int64_t classes = options.classes;
  if (classes < 1)
    raise(invalid_argument("confusion_matrix: classes is " + std::to_string(classes) + ", expected 1 or more"));
  std::vector<std::pair<std::string, Metric>> cells;
  for (int64_t label = 0; label < classes; ++label) {
    for (int64_t predicted = 0; predicted < classes; ++predicted) {
      Metric cell = of_ids("confusion_matrix", of, options.weights,
                           [label, predicted](int64_t is, int64_t taken) { return is == label && taken == predicted; });
      cell.value = [](std::span<const double> totals) { return totals[0]; };
      cell.is_count = true;
      cells.emplace_back("confusion/" + std::to_string(label) + "/" + std::to_string(predicted), std::move(cell));
    }
  }
  return cells;
}

}  // namespace shoal::nn
