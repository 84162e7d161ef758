// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Functions that metrics have in common: elements of batches as numbers, weights, and checks of shapes.
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/graph.h"
#include "shoal/nn/metrics.h"

namespace shoal::nn {

bool is_integer(DType dtype);  ///< True for int64, int32 and uint8.
bool is_numeric(DType dtype);  ///< True for integers, float32 and bool.

/// Element `index` as a double. Integers beyond 2^53 are rounded, so use id_at() to compare ids.
double number_at(const TensorView& view, int64_t index);
int64_t id_at(const TensorView& view, int64_t index);

void check_values(const std::string& who, Value values);
/// Raises InvalidArgument unless the shape of `weights` is that of `values` (a weight for each element), or the first axes
/// of that shape (a weight for each row). Axes of size 1 at the end do not count.
void check_weights(const std::string& who, Value values, Value weights);
/// InvalidArgument unless the labels, batch[0], and the predictions, batch[1], have the same number of elements.
Result<void> check_equal_counts(const std::string& who, std::span<const TensorView> batch);
/// totals[0] / totals[1]; 0 if totals[1] is 0.
double ratio(std::span<const double> totals);

/// Calls each(e, its weight) for each element e, and returns the first error at once. If there are fewer weights than
/// elements, each weight belongs to the same number of consecutive elements. Without weights, all are 1.
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

/// Makes a metric of pairs of a label and a prediction; the caller has checked both. each(batch, e, weight, totals) adds
/// pair e of a batch to the totals. `value` is ratio() by default.
template <class Each>
Metric metric_of_pairs(const std::string& who, Value labels, Value predictions, Value weights, size_t totals, Each each,
                       std::function<double(std::span<const double> totals)> value = ratio) {
  check_weights(who, labels, weights);
  Metric metric{
      .inputs = {labels, predictions}, .start = {}, .update = {}, .value = std::move(value), .merge = {}, .zeros = totals};
  if (weights.valid()) metric.inputs.push_back(weights);
  metric.update = [who, each](std::span<const TensorView> batch, std::span<double> sums) -> Result<void> {
    SHOAL_TRY_VOID(check_equal_counts(who, batch));
    return for_each_weighted(batch[0].elements(), batch.size() > 2 ? &batch[2] : nullptr,
                             [&](int64_t e, double weight) -> Result<void> { return each(batch, e, weight, sums); });
  };
  return metric;
}

}  // namespace shoal::nn
