#include "shoal/nn/metrics.h"

#include <algorithm>
#include <bit>
#include <string>

#include "example_values.h"

namespace shoal::nn {
namespace {

bool is_integer(DType dtype) { return dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kUInt8; }
bool is_numeric(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kBool || is_integer(dtype); }

/// Element `index` as a double. Integers beyond 2^53 round, so equality of ids is asked of id_at().
double number_at(const TensorView& view, int64_t index) {
  switch (view.dtype) {
    case DType::kFloat32: return view.as<float>()[size_t(index)];
    case DType::kInt32: return view.as<int32_t>()[size_t(index)];
    case DType::kInt64: return double(view.as<int64_t>()[size_t(index)]);
    case DType::kUInt8: return view.as<uint8_t>()[size_t(index)];
    default: return view.as<bool>()[size_t(index)] ? 1 : 0;
  }
}

int64_t id_at(const TensorView& view, int64_t index) {
  switch (view.dtype) {
    case DType::kInt32: return view.as<int32_t>()[size_t(index)];
    case DType::kUInt8: return view.as<uint8_t>()[size_t(index)];
    default: return view.as<int64_t>()[size_t(index)];
  }
}

std::string described(Value value) {
  return value.valid() ? std::string(to_string(value.dtype())) + " " + to_string(value.shape()) : "no value of a graph";
}

void check_values(const std::string& who, Value values) {
  if (!values.valid() || !is_numeric(values.dtype())) {
    raise(invalid_argument(who + ": expected numbers, got " + described(values)));
  }
}

/// Weights fit if there is one per element or one per row.
void check_weights(const std::string& who, Value values, Value weights) {
  if (!weights.valid()) return;
  const DimShape of_values = trimmed(values.shape());
  const DimShape of_weights = trimmed(weights.shape());
  const bool per_row = of_weights.rank() == 1 && of_values.rank() >= 1 && of_weights[0] == of_values[0];
  if (is_numeric(weights.dtype()) && (of_weights == of_values || per_row)) return;
  raise(invalid_argument(who + ": weights are " + described(weights) + ", values " + described(values) +
                         "; expected one weight per value or one per row"));
}

/// Calls each(element, its weight), where weights[e / (elements / count)] belongs to element e. The first error ends
/// it.
template <class Each>
Result<void> for_each_weighted(int64_t elements, const TensorView* weights, const Each& each) {
  const int64_t weight_count = weights == nullptr ? 0 : weights->elements();
  if (weights != nullptr && elements > 0 && (weight_count == 0 || elements % weight_count != 0)) {
    return invalid_argument("metric: a batch has " + std::to_string(elements) + " values and " +
                            std::to_string(weight_count) + " weights");
  }
  const int64_t per_weight = weight_count == 0 ? 1 : elements / weight_count;
  for (int64_t e = 0; e < elements; ++e) {
    SHOAL_TRY_VOID(each(e, weights == nullptr ? 1 : number_at(*weights, e / per_weight)));
  }
  return {};
}

/// Adds sum(weight * number) and sum(weight) to the totals.
template <class NumberAt>
Result<void> add_weighted(int64_t elements, const TensorView* weights, std::span<double> totals, const NumberAt& number) {
  return for_each_weighted(elements, weights, [&](int64_t e, double weight) -> Result<void> {
    totals[0] += weight * number(e);
    totals[1] += weight;
    return {};
  });
}

Result<void> check_equal_counts(const char* who, std::span<const TensorView> batch) {
  if (batch[0].elements() == batch[1].elements()) return {};
  return invalid_argument(std::string(who) + ": a batch has labels of shape " + to_string(batch[0].shape) +
                          " and predictions of shape " + to_string(batch[1].shape));
}

// Probabilities in classes that are as fine near 0 and near 1 as in between: 32 to each halving of p, or of 1 - p.
constexpr int kHalvings = 40, kBitsPerHalving = 5;
constexpr int kClassesPerSide = (kHalvings << kBitsPerHalving) + 1;
constexpr int kClasses = 2 * kClassesPerSide;

/// The class of p in [0, 0.5]: a float's exponent and the highest bits of its mantissa, counted up to those of 0.5.
int class_below_half(float p) {
  constexpr int kDropped = 23 - kBitsPerHalving;
  const int below = int(std::bit_cast<uint32_t>(0.5f) >> kDropped) - int(std::bit_cast<uint32_t>(p) >> kDropped);
  return std::max(0, kClassesPerSide - 1 - below);
}
int class_of(float p) { return p < 0.5f ? class_below_half(p) : kClasses - 1 - class_below_half(1.0f - p); }

/// Totals are the weights of the negatives of each class, then of the positives. A pair of one class counts half.
double area_under_curve(std::span<const double> totals) {
  double negatives = 0, positives = 0, area = 0;
  for (size_t i = 0; i < kClasses; ++i) {
    area += totals[kClasses + i] * (negatives + totals[i] / 2);
    negatives += totals[i];
    positives += totals[kClasses + i];
  }
  return negatives == 0 || positives == 0 ? 0 : area / (negatives * positives);
}

double ratio(std::span<const double> totals) { return totals[1] == 0 ? 0 : totals[0] / totals[1]; }

}  // namespace

MetricAccumulator::MetricAccumulator(const Metric& metric)
    : input_count_(metric.inputs.size()),
      start_(metric.start),
      totals_(metric.start),
      update_(metric.update),
      value_(metric.value),
      merge_(metric.merge) {
  if (!update_ || !value_) raise(invalid_argument("a metric needs both an update and a value function"));
}

Result<void> MetricAccumulator::update(std::span<const TensorView> batch) {
  SHOAL_CHECK(batch.size() == input_count_);
  return update_(batch, totals_);
}

void MetricAccumulator::merge(const MetricAccumulator& other) {
  SHOAL_CHECK(totals_.size() == other.totals_.size());
  if (merge_) return merge_(totals_, other.totals_);
  for (size_t i = 0; i < totals_.size(); ++i) totals_[i] += other.totals_[i];
}

Metric mean(Value values, Value weights) {
  check_values("mean", values);
  check_weights("mean", values, weights);
  Metric metric{.inputs = {values}, .start = {0, 0}, .update = {}, .value = ratio, .merge = {}};
  if (weights.valid()) metric.inputs.push_back(weights);
  metric.update = [](std::span<const TensorView> batch, std::span<double> totals) {
    const TensorView* const batch_weights = batch.size() > 1 ? &batch[1] : nullptr;
    return add_weighted(batch[0].elements(), batch_weights, totals, [&](int64_t e) { return number_at(batch[0], e); });
  };
  return metric;
}

Metric accuracy(Value labels, Value predictions, Value weights) {
  const bool valid = labels.valid() && predictions.valid();
  if (!valid || !is_integer(labels.dtype()) || !is_integer(predictions.dtype()) ||
      trimmed(labels.shape()) != trimmed(predictions.shape())) {
    raise(invalid_argument("accuracy: labels are " + described(labels) + ", predictions " + described(predictions) +
                           "; expected class ids (int64, int32 or uint8) of one shape"));
  }
  check_weights("accuracy", labels, weights);
  Metric metric{.inputs = {labels, predictions}, .start = {0, 0}, .update = {}, .value = ratio, .merge = {}};
  if (weights.valid()) metric.inputs.push_back(weights);
  metric.update = [](std::span<const TensorView> batch, std::span<double> totals) -> Result<void> {
    SHOAL_TRY_VOID(check_equal_counts("accuracy", batch));
    const TensorView* const batch_weights = batch.size() > 2 ? &batch[2] : nullptr;
    return add_weighted(batch[0].elements(), batch_weights, totals,
                        [&](int64_t e) { return id_at(batch[0], e) == id_at(batch[1], e) ? 1.0 : 0.0; });
  };
  return metric;
}

Metric auc(Value labels, Value predictions, Value weights) {
  const bool valid = labels.valid() && predictions.valid();
  if (!valid || !is_numeric(labels.dtype()) || predictions.dtype() != DType::kFloat32 ||
      trimmed(labels.shape()) != trimmed(predictions.shape())) {
    raise(invalid_argument("auc: labels are " + described(labels) + ", predictions " + described(predictions) +
                           "; expected labels of 0 or 1 and float32 probabilities of one shape"));
  }
  check_weights("auc", labels, weights);
  Metric metric{.inputs = {labels, predictions},
                .start = std::vector<double>(2 * kClasses),
                .update = {},
                .value = area_under_curve,
                .merge = {}};
  if (weights.valid()) metric.inputs.push_back(weights);
  metric.update = [](std::span<const TensorView> batch, std::span<double> totals) -> Result<void> {
    SHOAL_TRY_VOID(check_equal_counts("auc", batch));
    const auto predicted = batch[1].as<float>();
    const TensorView* const batch_weights = batch.size() > 2 ? &batch[2] : nullptr;
    return for_each_weighted(batch[0].elements(), batch_weights, [&](int64_t e, double weight) -> Result<void> {
      const double label = number_at(batch[0], e);
      const float p = predicted[size_t(e)];
      if (label != 0 && label != 1) {
        return invalid_argument("auc: label " + std::to_string(e) + " of a batch is " + std::to_string(label) +
                                "; labels are 0 or 1");
      }
      if (!(p >= 0 && p <= 1)) {
        return invalid_argument("auc: prediction " + std::to_string(e) + " of a batch is " + std::to_string(p) +
                                "; expected a probability, from 0 to 1");
      }
      totals[size_t(class_of(p)) + (label == 1 ? kClasses : 0)] += weight;
      return {};
    });
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

}  // namespace shoal::nn
