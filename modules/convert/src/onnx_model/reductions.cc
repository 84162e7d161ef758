// SPDX-License-Identifier: Apache-2.0
// Sums, means and maxima along axes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx_model/strided.h"

namespace shoal::convert::onnx_model {
namespace {

/// The shapes of a reduction: the operand with reduced axes of size 1, and the result.
struct Reduction {
  Shape kept;       ///< The shape of the operand, with 1 for each reduced axis.
  Shape result;     ///< The shape of the op's result.
  int64_t count{};  ///< The number of elements that are reduced to one.
};

Result<Reduction> reduction(const Call& call, std::vector<int64_t> axes) {
  const Shape& shape = call.shape();
  const bool keeps = call.number("keepdims", 1) != 0;
  if (axes.empty()) {
    for (int64_t axis = 0; axis < shape.rank(); ++axis) axes.push_back(axis);
  }
  std::vector<bool> goes(size_t(shape.rank()), false);
  for (const int64_t one : axes) {
    SHOAL_TRY(const int axis, axis_of(one, shape.rank()));
    goes[size_t(axis)] = true;
  }
  Reduction of{.kept = shape, .result = {}, .count = 1};
  std::vector<int64_t> left;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (goes[size_t(axis)]) {
      of.count *= shape[axis];
      of.kept = of.kept.with(axis, 1);
    }
    if (keeps || !goes[size_t(axis)]) left.push_back(goes[size_t(axis)] ? 1 : shape[axis]);
  }
  SHOAL_TRY(of.result, shape_of(left));
  return of;
}

/// Computes sums[i] = add(sums[i], x) for each element x that is reduced to element i.
template <class T, class Sum, class Add>
void reduce_into(const Call& call, const Reduction& of, std::vector<Sum>& sums, Add add) {
  auto next = call.in(0).as<T>().begin();
  const Shape& shape = call.shape();
  const Strides strides = repeated_strides(of.kept, shape);
  const int64_t step = last_stride(strides, shape);
  each_row<1>(shape, {strides}, [&](const auto& begins, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      Sum& sum = sums[size_t(begins[0] + i * step)];
      sum = add(sum, *next++);
    }
  });
}

/// Reduces with `add`, starting at `first`; the elements of the result are finish(sum).
template <class T, class Sum, class Add, class Finish>
Result<void> reduce(Call& call, const Reduction& of, Sum first, Add add, Finish finish) {
  SHOAL_TRY(Tensor result, call.make(dtype_of_v<T>, of.result));
  SHOAL_TRY_VOID(call.budget().take({call.in(0).elements()}));
  std::vector<Sum> sums(size_t(result.elements()), first);
  reduce_into<T>(call, of, sums, add);
  std::ranges::transform(sums, result.mutable_as<T>().begin(), finish);
  call.give(std::move(result));
  return {};
}

/// Sums of float32 are computed in double; sums of integers wrap around.
template <bool kSquares>
Result<void> sum(Call& call, const Reduction& of) {
  const auto wrapped = [](uint64_t total, int64_t x) { return total + uint64_t(x) * (kSquares ? uint64_t(x) : 1); };
  switch (call.dtype()) {
    case DType::kFloat32:
      return reduce<float>(
          call, of, 0.0, [](double total, float x) { return total + double(x) * (kSquares ? double(x) : 1); },
          [](double total) { return float(total); });
    case DType::kInt32:
      return reduce<int32_t>(call, of, uint64_t(0), wrapped, [](uint64_t total) { return int32_t(total); });
    case DType::kInt64:
      return reduce<int64_t>(call, of, uint64_t(0), wrapped, [](uint64_t total) { return int64_t(total); });
    default: return call.unknown_type();
  }
}

Result<void> run_reduce_sum(Call& call) {
  std::vector<int64_t> axes;
  if (call.has(1)) {
    SHOAL_TRY(axes, call.int64s(1));
  }
  if (axes.empty() && call.number("noop_with_empty_axes", 0) != 0) return call.give(call.in(0)), Result<void>();
  SHOAL_TRY(const Reduction of, reduction(call, axes));
  return sum<false>(call, of);
}

Result<void> run_reduce_sum_square(Call& call) {
  SHOAL_TRY(const Reduction of, reduction(call, call.numbers("axes")));
  return sum<true>(call, of);
}

Result<void> run_reduce_mean(Call& call) {
  SHOAL_TRY_VOID(call.want(0, DType::kFloat32));
  SHOAL_TRY(const Reduction of, reduction(call, call.numbers("axes")));
  return reduce<float>(
      call, of, 0.0, [](double total, float x) { return total + double(x); },
      [&](double total) { return float(total / double(of.count)); });
}

template <class T>
Result<void> maximum(Call& call, const Reduction& of) {
  const auto larger = [](T a, T b) { return b > a || b != b ? b : a; };  // NaN stays.
  const T least = std::is_same_v<T, float> ? T(-std::numeric_limits<float>::infinity()) : std::numeric_limits<T>::lowest();
  return reduce<T>(call, of, least, larger, [](T largest) { return largest; });
}

Result<void> run_reduce_max(Call& call) {
  SHOAL_TRY(const Reduction of, reduction(call, call.numbers("axes")));
  if (of.count == 0) return invalid_argument("there is no maximum of no elements");
  switch (call.dtype()) {
    case DType::kFloat32: return maximum<float>(call, of);
    case DType::kInt32: return maximum<int32_t>(call, of);
    case DType::kInt64: return maximum<int64_t>(call, of);
    case DType::kUInt8: return maximum<uint8_t>(call, of);
    default: return call.unknown_type();
  }
}

const KnownAttribute kAxes{"axes", AttributeType::kInts}, kKeepDims{"keepdims", AttributeType::kInt};

}  // namespace

void add_reductions(Kernels& kernels) {
  kernels["ReduceSum"] = {run_reduce_sum, 1, 2, {kKeepDims, {"noop_with_empty_axes", AttributeType::kInt}}};
  kernels["ReduceSumSquare"] = {run_reduce_sum_square, 1, 1, {kAxes, kKeepDims}};
  kernels["ReduceMean"] = {run_reduce_mean, 1, 1, {kAxes, kKeepDims}};
  kernels["ReduceMax"] = {run_reduce_max, 1, 1, {kAxes, kKeepDims}};
}

}  // namespace shoal::convert::onnx_model
