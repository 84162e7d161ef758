// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "onnx_model/strided.h"

namespace shoal::convert::onnx_model {
namespace {

/// Computes (x - mean) / sqrt(variance + epsilon) * scale + shift for each channel (axis 1).
Result<void> run_batch_normalization(Call& call) {
  SHOAL_TRY_VOID(call.want(0, DType::kFloat32));
  const Shape& shape = call.shape();
  if (shape.rank() < 2) return invalid_argument("input 0 has the shape " + to_string(shape) + ", without channels");
  for (size_t i = 1; i < 5; ++i) SHOAL_TRY_VOID(call.want(i, DType::kFloat32, {shape[1]}));
  const auto x = call.in(0).as<float>(), scale = call.in(1).as<float>(), shift = call.in(2).as<float>(),
             mean = call.in(3).as<float>(), variance = call.in(4).as<float>();
  const double epsilon = call.real("epsilon", 1e-5f);
  SHOAL_TRY(Tensor result, call.make(DType::kFloat32, shape));
  const auto to = result.mutable_as<float>();
  const auto places = size_t(dense_strides(shape)[1]);
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t channel = i / places % scale.size();
    const double factor = double(scale[channel]) / std::sqrt(double(variance[channel]) + epsilon);
    to[i] = float((double(x[i]) - double(mean[channel])) * factor + double(shift[channel]));
  }
  call.give(std::move(result));
  return {};
}

/// The number of elements of one row, if the axes from `axis` on form a row.
int64_t elements_from(const Shape& shape, int axis) {
  int64_t elements = 1;
  for (; axis < shape.rank(); ++axis) elements *= shape[axis];
  return elements;
}

/// Normalizes over the axes from "axis" on. Scale and shift broadcast to the shape of x. The other two outputs are the
/// mean, and the factor by which x - mean is multiplied.
Result<void> run_layer_normalization(Call& call) {
  SHOAL_TRY_VOID(call.want(0, DType::kFloat32));
  SHOAL_TRY_VOID(call.want_one_type());
  const Shape& shape = call.shape();
  SHOAL_TRY(const int axis, axis_of(call.number("axis", -1), shape.rank()));
  SHOAL_TRY(const Tensor scales, expanded(call, call.in(1), shape));
  SHOAL_TRY(const Tensor shifts, call.has(2) ? expanded(call, call.in(2), shape) : call.make(DType::kFloat32, Shape{0}));
  SHOAL_TRY(Tensor result, call.make(DType::kFloat32, shape));
  Shape reduced = shape;
  for (int i = axis; i < shape.rank(); ++i) reduced = reduced.with(i, 1);
  SHOAL_TRY(Tensor means, call.make(DType::kFloat32, reduced));
  SHOAL_TRY(Tensor factors, call.make(DType::kFloat32, reduced));
  auto to_means = means.mutable_as<float>().begin(), to_factors = factors.mutable_as<float>().begin();
  const auto count = size_t(elements_from(shape, axis));
  const auto x = call.in(0).as<float>(), scale = scales.as<float>(), shift = shifts.as<float>();
  const auto to = result.mutable_as<float>();
  const double epsilon = call.real("epsilon", 1e-5f);
  for (size_t begin = 0; begin < to.size(); begin += count) {
    double mean = 0, variance = 0;
    for (size_t i = begin; i < begin + count; ++i) mean += x[i];
    mean /= double(count);
    for (size_t i = begin; i < begin + count; ++i) variance += (x[i] - mean) * (x[i] - mean);
    const double factor = 1 / std::sqrt(variance / double(count) + epsilon);
    *to_means++ = float(mean);
    *to_factors++ = float(factor);
    for (size_t i = begin; i < begin + count; ++i)
      to[i] = float((x[i] - mean) * factor * double(scale[i]) + (shift.empty() ? 0.0 : double(shift[i])));
  }
  if (result.elements() == 0 && means.elements() > 0) return invalid_argument("there is no mean of no elements");
  call.give(std::move(result), 0);
  call.give(std::move(means), 1);
  call.give(std::move(factors), 2);
  return {};
}

/// Computes a function like softmax along an axis: each element x becomes of(x - maximum, sum of e^(x - maximum)), with
/// the maximum and the sum over the elements along the axis.
template <class Of>
Result<void> softmax(Call& call, Of of) {
  SHOAL_TRY_VOID(call.want(0, DType::kFloat32));
  const Shape& shape = call.shape();
  SHOAL_TRY(const int axis, axis_of(call.number("axis", -1), shape.rank()));
  SHOAL_TRY(Tensor result, call.make(DType::kFloat32, shape));
  const auto x = call.in(0).as<float>();
  const auto to = result.mutable_as<float>();
  const auto step = size_t(elements_from(shape, axis + 1)), span = step * size_t(shape[axis]);
  for (size_t row = 0; span > 0 && row < to.size() / size_t(shape[axis]); ++row) {
    const size_t begin = row / step * span + row % step;
    double largest = x[begin], sum = 0;
    for (size_t i = begin; i < begin + span; i += step) largest = std::max(largest, double(x[i]));
    for (size_t i = begin; i < begin + span; i += step) sum += std::exp(double(x[i]) - largest);
    for (size_t i = begin; i < begin + span; i += step) to[i] = float(of(double(x[i]) - largest, sum));
  }
  call.give(std::move(result));
  return {};
}

Result<void> run_softmax(Call& call) {
  return softmax(call, [](double x, double sum) { return std::exp(x) / sum; });
}
Result<void> run_log_softmax(Call& call) {
  return softmax(call, [](double x, double sum) { return x - std::log(sum); });
}

}  // namespace

void add_norms(Kernels& kernels) {
  kernels["BatchNormalization"] = {
      run_batch_normalization,
      5,
      5,
      {{"epsilon", AttributeType::kReal}, {"momentum", AttributeType::kReal}, {"training_mode", AttributeType::kInt, "0"}}};
  kernels["LayerNormalization"] = {
      run_layer_normalization,
      2,
      3,
      {{"axis", AttributeType::kInt}, {"epsilon", AttributeType::kReal}, {"stash_type", AttributeType::kInt, "1"}},
      3};
  kernels["Softmax"] = {run_softmax, 1, 1, {{"axis", AttributeType::kInt}}};
  kernels["LogSoftmax"] = {run_log_softmax, 1, 1, {{"axis", AttributeType::kInt}}};
}

}  // namespace shoal::convert::onnx_model
