// SPDX-License-Identifier: Apache-2.0
#include "metric_values.h"

#include <algorithm>

#include "example_values.h"

namespace shoal::nn {

bool is_integer(DType dtype) { return dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kUInt8; }
bool is_numeric(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kBool || is_integer(dtype); }

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

void check_values(const std::string& who, Value values) {
  if (!values.valid() || !is_numeric(values.dtype())) {
    raise(invalid_argument(who + ": expected numbers, got " + described(values)));
  }
}

void check_weights(const std::string& who, Value values, Value weights) {
  if (!weights.valid()) return;
  const DimShape of_values = trimmed(values.shape());
  const DimShape of_weights = trimmed(weights.shape());
  const auto& short_dims = of_weights.dims();
  const auto& long_dims = of_values.dims();
  const bool prefix = short_dims.size() <= long_dims.size() && !short_dims.empty() &&
                      std::equal(short_dims.begin(), short_dims.end(), long_dims.begin());
  if (is_numeric(weights.dtype()) && (of_weights == of_values || prefix)) return;
  raise(invalid_argument(who + ": weights are " + described(weights) + ", values " + described(values) +
                         "; expected one weight per value or one per row"));
}

Result<void> check_equal_counts(const std::string& who, std::span<const TensorView> batch) {
  if (batch[0].elements() == batch[1].elements()) return {};
  return invalid_argument(who + ": a batch has labels of shape " + to_string(batch[0].shape) +
                          " and predictions of shape " + to_string(batch[1].shape));
}

double ratio(std::span<const double> totals) { return totals[1] == 0 ? 0 : totals[0] / totals[1]; }

}  // namespace shoal::nn
