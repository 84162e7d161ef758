// SPDX-License-Identifier: Apache-2.0
// Ops that make tensors from sizes and numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx_model/strided.h"

namespace shoal::convert::onnx_model {
namespace {

Result<void> run_constant(Call& call) {
  const Attribute* const value = call.find("value");
  if (!value) return invalid_argument("attribute \"value\" is missing");
  call.give(value->tensor);
  return {};
}

/// Fills the result with zeros of float32, or with the one element of the attribute "value".
Result<void> run_constant_of_shape(Call& call) {
  SHOAL_TRY(const std::vector<int64_t> dims, call.int64s(0));
  const Attribute* const value = call.find("value");
  if (value && value->tensor.elements() != 1) return invalid_argument("attribute \"value\" is not one element");
  SHOAL_TRY(const Shape shape, shape_of(dims));
  SHOAL_TRY(Tensor result, gathered(call, value ? value->tensor : Tensor::scalar(0.0f), shape, Strides{}));
  call.give(std::move(result));
  return {};
}

/// Writes ones along a diagonal, and zeros elsewhere.
Result<void> run_eye_like(Call& call) {
  SHOAL_TRY_VOID(call.want_rank(0, 2));
  DType dtype = call.dtype();
  if (const Attribute* const asked = call.find("dtype")) {
    SHOAL_TRY(dtype, dtype_of_element(asked->number));
  }
  if (dtype == DType::kString) return invalid_argument("there is no diagonal of texts");
  const int64_t k = call.number("k", 0), rows = call.shape()[0], columns = call.shape()[1];
  SHOAL_TRY(Tensor result, call.make(dtype, call.shape()));
  SHOAL_TRY_VOID(with_type(dtype, [&]<class T>(T) -> Result<void> {
    const auto to = elements_of<T>(result);
    std::ranges::fill(to, T());
    if constexpr (!std::is_same_v<T, std::string>) {
      if (k <= -rows || k >= columns) return {};
      for (int64_t row = std::max<int64_t>(0, -k); row < rows && row + k < columns; ++row)
        to[size_t(row * columns + row + k)] = T(1);
    }
    return {};
  }));
  call.give(std::move(result));
  return {};
}

/// The number of elements of Range: start, start + delta, ..., without `limit`.
double range_count(float start, float limit, float delta) {
  return std::max(std::ceil((double(limit) - double(start)) / double(delta)), 0.0);
}
template <class T>
double range_count(T start, T limit, T delta) {
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  const uint64_t from = uint64_t(int64_t(start)), to = uint64_t(int64_t(limit)), by = uint64_t(int64_t(delta));
  const uint64_t distance = delta > 0 ? to - from : from - to, step = delta > 0 ? by : 0 - by;
  return double((distance - 1) / step + 1);
}

template <class T>
Result<void> give_range(Call& call) {
  for (size_t i = 0; i < 3; ++i) {
    SHOAL_TRY_VOID(call.want(i, dtype_of_v<T>));
    if (call.in(i).elements() != 1) return invalid_argument("input " + std::to_string(i) + " is not one element");
  }
  const T start = call.in(0).as<T>()[0], limit = call.in(1).as<T>()[0], delta = call.in(2).as<T>()[0];
  if (delta == T(0)) return invalid_argument("the step is 0");
  const double count = range_count(start, limit, delta);
  if (!(count <= double(call.budget().elements_max())))
    return invalid_argument("the result would have " + std::to_string(count) + " elements, which is beyond the limit");
  SHOAL_TRY(Tensor result, call.make(dtype_of_v<T>, Shape{int64_t(count)}));
  const auto to = result.mutable_as<T>();
  for (size_t i = 0; i < to.size(); ++i) {
    if constexpr (std::is_same_v<T, float>) {
      to[i] = float(double(start) + double(i) * double(delta));
    } else {
      to[i] = T(uint64_t(int64_t(start)) + i * uint64_t(int64_t(delta)));
    }
  }
  call.give(std::move(result));
  return {};
}

Result<void> run_range(Call& call) {
  switch (call.dtype()) {
    case DType::kFloat32: return give_range<float>(call);
    case DType::kInt32: return give_range<int32_t>(call);
    case DType::kInt64: return give_range<int64_t>(call);
    default: return call.unknown_type();
  }
}

/// Returns the sizes of the axes from "start" to before "end"; both are counted and clamped as in Python's slices.
Result<void> run_shape(Call& call) {
  const int64_t rank = call.shape().rank();
  const auto placed = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
  const int64_t begin = placed(call.number("start", 0)), end = placed(call.number("end", rank));
  std::vector<int64_t> sizes;
  for (int64_t axis = begin; axis < end; ++axis) sizes.push_back(call.shape()[int(axis)]);
  call.give(Tensor::of<int64_t>({int64_t(sizes.size())}, sizes));
  return {};
}

Result<void> run_size(Call& call) {
  call.give(Tensor::scalar(call.in(0).elements()));
  return {};
}

}  // namespace

void add_operands(Kernels& kernels) {
  kernels["Constant"] = {run_constant, 0, 0, {{"value", AttributeType::kTensor}}};
  kernels["ConstantOfShape"] = {run_constant_of_shape, 1, 1, {{"value", AttributeType::kTensor}}};
  kernels["EyeLike"] = {run_eye_like, 1, 1, {{"dtype", AttributeType::kInt}, {"k", AttributeType::kInt}}};
  kernels["Range"] = {run_range, 3, 3};
  kernels["Shape"] = {run_shape, 1, 1, {{"start", AttributeType::kInt}, {"end", AttributeType::kInt}}};
  kernels["Size"] = {run_size};
}

}  // namespace shoal::convert::onnx_model
