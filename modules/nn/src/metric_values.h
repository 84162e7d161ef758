#pragma once
/// What the metrics share: elements of batches as numbers, weights, and checks of shapes.
#include <span>
#include <string>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/graph.h"

namespace shoal::nn {

bool is_integer(DType dtype);  ///< True for int64, int32 and uint8.
bool is_numeric(DType dtype);  ///< True for integers, float32 and bool.

/// Element `index` as a double. Integers beyond 2^53 round, so equality of ids is asked of id_at().
double number_at(const TensorView& view, int64_t index);
int64_t id_at(const TensorView& view, int64_t index);

void check_values(const std::string& who, Value values);
/// Weights fit if there is one per element, or one for all elements that have the first indices in common.
void check_weights(const std::string& who, Value values, Value weights);
/// InvalidArgument unless a batch has as many predictions as labels, which come first.
Result<void> check_equal_counts(const char* who, std::span<const TensorView> batch);
/// totals[0] / totals[1]; 0 where that is 0.
double ratio(std::span<const double> totals);

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

}  // namespace shoal::nn
