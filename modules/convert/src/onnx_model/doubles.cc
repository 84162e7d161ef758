// SPDX-License-Identifier: Apache-2.0
// Ops on float64. Shoal's tensors lack this type, so a tensor of int64 holds the bits of the numbers. ONNX files use
// float64 between two Casts, for sums of squares that would exceed float32.
#include <algorithm>
#include <bit>
#include <cmath>

#include "onnx_model/strided.h"

namespace shoal::convert::onnx_model {
namespace {

double number_of(int64_t bits) { return std::bit_cast<double>(bits); }
int64_t bits_of(double number) { return std::bit_cast<int64_t>(number); }

Result<void> want_doubles(const Call& call) {
  for (size_t i = 0; i < call.inputs(); ++i) {
    if (!call.is_double(i)) return invalid_argument("input " + std::to_string(i) + " is not float64, as others are");
  }
  return {};
}

Result<void> run_sqrt_of_doubles(Call& call) {
  SHOAL_TRY(Tensor result, call.make(DType::kInt64, call.shape()));
  std::ranges::transform(call.in(0).as<int64_t>(), result.mutable_as<int64_t>().begin(),
                         [](int64_t bits) { return bits_of(std::sqrt(number_of(bits))); });
  call.give_doubles(std::move(result));
  return {};
}

Result<void> run_add_of_doubles(Call& call) {
  SHOAL_TRY_VOID(want_doubles(call));
  SHOAL_TRY(const Shape shape, broadcast(call, 0, 1));
  SHOAL_TRY(Tensor result, expanded(call, call.in(0), shape));
  SHOAL_TRY(const Tensor others, expanded(call, call.in(1), shape));
  std::ranges::transform(result.as<int64_t>(), others.as<int64_t>(), result.mutable_as<int64_t>().begin(),
                         [](int64_t a, int64_t b) { return bits_of(number_of(a) + number_of(b)); });
  call.give_doubles(std::move(result));
  return {};
}

/// Sums squares over all axes. Shoal writes no ONNX file with another sum of float64.
Result<void> run_sum_of_squares(Call& call) {
  if (!call.numbers("axes").empty()) return invalid_argument("sums of float64 along some axes are not known here");
  SHOAL_TRY_VOID(call.budget().take({call.in(0).elements()}));
  double sum = 0;
  for (const int64_t bits : call.in(0).as<int64_t>()) sum += number_of(bits) * number_of(bits);
  std::vector<int64_t> dims;
  if (call.number("keepdims", 1) != 0) dims.assign(size_t(call.shape().rank()), 1);
  SHOAL_TRY(Tensor result, call.make(DType::kInt64, dims));
  result.mutable_as<int64_t>()[0] = bits_of(sum);
  call.give_doubles(std::move(result));
  return {};
}

Result<void> run_cast_of_doubles(Call& call) {
  SHOAL_TRY(const DType to, dtype_of_element(call.number("to", 0)));
  if (to != DType::kFloat32)
    return invalid_argument("a Cast from float64 to " + std::string(to_string(to)) + " is not known here");
  SHOAL_TRY(Tensor result, call.make(DType::kFloat32, call.shape()));
  std::ranges::transform(call.in(0).as<int64_t>(), result.mutable_as<float>().begin(),
                         [](int64_t bits) { return float(number_of(bits)); });
  call.give(std::move(result));
  return {};
}

}  // namespace

Result<void> cast_to_doubles(Call& call) {
  if (call.is_double(0)) return invalid_argument("a Cast from float64 to itself is not known here");
  SHOAL_TRY_VOID(call.want(0, DType::kFloat32));
  SHOAL_TRY(Tensor result, call.make(DType::kInt64, call.shape()));
  std::ranges::transform(call.in(0).as<float>(), result.mutable_as<int64_t>().begin(),
                         [](float number) { return bits_of(double(number)); });
  call.give_doubles(std::move(result));
  return {};
}

void add_doubles(Kernels& kernels) {
  kernels.at("Sqrt").run_doubles = run_sqrt_of_doubles;
  kernels.at("Add").run_doubles = run_add_of_doubles;
  kernels.at("ReduceSumSquare").run_doubles = run_sum_of_squares;
  kernels.at("Cast").run_doubles = run_cast_of_doubles;
}

}  // namespace shoal::convert::onnx_model
