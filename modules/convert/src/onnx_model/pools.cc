// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx_model/windows.h"

namespace shoal::convert::onnx_model {
namespace {

/// Checks that padding is smaller than the window, so that each window covers elements of the picture.
Result<WindowAxes> pool_axes(const Call& call) {
  SHOAL_TRY_VOID(call.want(0, DType::kFloat32));
  const std::vector<int64_t> window = call.numbers("kernel_shape");
  if (window.size() != 2)
    return invalid_argument("attribute \"kernel_shape\" is not two numbers; windows of two axes are known here");
  SHOAL_TRY(const WindowAxes axes, window_axes(call, window[0], window[1]));
  SHOAL_TRY_VOID(check_windows_fit(axes));
  for (const WindowAxis* axis : {&axes.y, &axes.x}) {
    if (std::max(axis->before, axis->after) >= axis->window)
      return invalid_argument("the padding is not smaller than the window");
    if (axis->dilation != 1) return invalid_argument("dilations other than 1 are not known here");
  }
  return axes;
}

/// The elements of the picture that a window covers, from `begin` to before `end`.
struct Covered {
  int64_t begin, end;
};
Covered covered(const WindowAxis& axis, int64_t at) {
  const int64_t first = at * axis.stride - axis.before;
  return {std::max<int64_t>(first, 0), std::min(first + axis.window, axis.size)};
}

/// For each window, calls the function `of` with the picture and the rows and columns that the window covers, and writes
/// what it returns to the result.
template <class Of>
Result<void> pooled(Call& call, const WindowAxes& axes, Of of) {
  const auto& [y, x] = axes;
  const Shape& shape = call.shape();
  SHOAL_TRY(Tensor result, call.make(DType::kFloat32, Shape{shape[0], shape[1], y.count(), x.count()}));
  SHOAL_TRY_VOID(call.budget().take({result.elements(), y.window, x.window}));
  auto to = result.mutable_as<float>().begin();
  const float* picture = call.in(0).as<float>().data();
  for (int64_t left = shape[0] * shape[1]; left > 0; --left, picture += y.size * x.size) {
    for (int64_t row = 0; row < y.count(); ++row) {
      for (int64_t column = 0; column < x.count(); ++column) *to++ = of(picture, covered(y, row), covered(x, column));
    }
  }
  call.give(std::move(result));
  return {};
}

Result<void> run_max_pool(Call& call) {
  SHOAL_TRY(const WindowAxes axes, pool_axes(call));
  return pooled(call, axes, [&](const float* picture, Covered rows, Covered columns) {
    float largest = -std::numeric_limits<float>::infinity();
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        const float value = picture[y * axes.x.size + x];
        if (value > largest || std::isnan(value)) largest = value;
      }
    }
    return largest;
  });
}

Result<void> run_average_pool(Call& call) {
  SHOAL_TRY(const WindowAxes axes, pool_axes(call));
  const bool counts_padding = call.number("count_include_pad", 0) != 0;
  return pooled(call, axes, [&](const float* picture, Covered rows, Covered columns) {
    double sum = 0;
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      for (int64_t x = columns.begin; x < columns.end; ++x) sum += picture[y * axes.x.size + x];
    }
    const int64_t count =
        counts_padding ? axes.y.window * axes.x.window : (rows.end - rows.begin) * (columns.end - columns.begin);
    return float(sum / double(count));
  });
}

}  // namespace

void add_pools(Kernels& kernels) {
  const std::vector<KnownAttribute> of_both{{"auto_pad", AttributeType::kText, "NOTSET"},
                                            {"ceil_mode", AttributeType::kInt, "0"},
                                            {"kernel_shape", AttributeType::kInts},
                                            {"pads", AttributeType::kInts},
                                            {"strides", AttributeType::kInts}};
  std::vector<KnownAttribute> of_max = of_both, of_average = of_both;
  of_max.push_back({"dilations", AttributeType::kInts});
  of_max.push_back({"storage_order", AttributeType::kInt, "0"});
  of_average.push_back({"count_include_pad", AttributeType::kInt});
  kernels["MaxPool"] = {run_max_pool, 1, 1, of_max};
  kernels["AveragePool"] = {run_average_pool, 1, 1, of_average};
}

}  // namespace shoal::convert::onnx_model
