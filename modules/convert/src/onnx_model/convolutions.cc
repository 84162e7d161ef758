// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "onnx_model/product_loops.h"
#include "onnx_model/windows.h"

namespace shoal::convert::onnx_model {
namespace {

/// The operands of Conv and ConvTranspose: pictures, kernels of rank 4, and an optional bias.
struct Convolved {
  WindowAxes axes;
  int64_t groups = 1;
};

Result<Convolved> convolved(const Call& call) {
  for (size_t i = 0; i < 2; ++i) {
    SHOAL_TRY_VOID(call.want(i, DType::kFloat32));
    SHOAL_TRY_VOID(call.want_rank(i, 4));
  }
  const Shape& kernel = call.shape(1);
  SHOAL_TRY(const WindowAxes axes, window_axes(call, kernel[2], kernel[3]));
  const std::vector<int64_t> said = call.numbers("kernel_shape", {kernel[2], kernel[3]});
  if (said != std::vector{kernel[2], kernel[3]})
    return invalid_argument("attribute \"kernel_shape\" is not that of the kernel, " + to_string(kernel));
  const int64_t groups = call.number("group", 1);
  if (groups < 1 || call.shape()[1] % groups != 0 || kernel[0] % groups != 0) {
    return invalid_argument(std::to_string(groups) + " groups do not divide the channels of " + to_string(call.shape()) +
                            " and " + to_string(kernel));
  }
  return Convolved{axes, groups};
}

Error unfit_channels(const Call& call) {
  return invalid_argument("pictures of " + to_string(call.shape(0)) + " and a kernel of " + to_string(call.shape(1)) +
                          " have channels that do not fit");
}

/// Returns the bias of each channel of the result; zeros without a bias operand.
Result<std::vector<double>> biases(Call& call, int64_t channels) {
  if (!call.has(2)) return call.sums({channels});
  SHOAL_TRY_VOID(call.want(2, DType::kFloat32, {channels}));
  const auto given = call.in(2).as<float>();
  return std::vector<double>(given.begin(), given.end());
}

/// Fills `padded` with a picture and its padding of zeros.
void fill_padded(const WindowAxes& axes, const float* picture, int64_t channels, std::vector<double>& padded) {
  for (int64_t row = 0; row < channels * axes.y.size; ++row) {
    const int64_t channel = row / axes.y.size, y = row % axes.y.size;
    double* const to = padded.data() + (channel * axes.y.padded() + y + axes.y.before) * axes.x.padded() + axes.x.before;
    std::copy_n(picture + row * axes.x.size, axes.x.size, to);
  }
}

Result<void> run_conv(Call& call) {
  SHOAL_TRY(const Convolved of, convolved(call));
  SHOAL_TRY_VOID(check_windows_fit(of.axes));
  const auto& [y, x] = of.axes;
  const Shape &pictures = call.shape(0), &kernel = call.shape(1);
  const int64_t channels = pictures[1], filters = kernel[0], depth = kernel[1];
  if (channels != depth * of.groups) return unfit_channels(call);
  SHOAL_TRY(Tensor result, call.make(DType::kFloat32, Shape{pictures[0], filters, y.count(), x.count()}));
  SHOAL_TRY(const std::vector<double> bias, biases(call, filters));
  SHOAL_TRY_VOID(call.budget().take({pictures[0], filters, depth, y.window, x.window, y.count(), x.padded()}));
  SHOAL_TRY_VOID(call.budget().take({pictures[0], channels, y.padded(), x.padded()}));
  SHOAL_TRY(std::vector<double> padded, call.sums({channels, y.padded(), x.padded()}));
  SHOAL_TRY(std::vector<double> sums, call.sums({y.count(), x.padded()}));
  SHOAL_TRY_VOID(call.budget().take({call.in(1).elements()}));
  const auto weights = call.in(1).as<float>();
  const std::vector<double> kernels(weights.begin(), weights.end());
  const Windows windows{depth,    y.padded(), x.padded(), y.window,  x.window, y.stride,
                        x.stride, y.dilation, x.dilation, y.count(), x.count()};
  auto to = result.mutable_as<float>().begin();
  for (int64_t n = 0; n < pictures[0]; ++n) {
    fill_padded(of.axes, call.in(0).as<float>().data() + n * channels * y.size * x.size, channels, padded);
    for (int64_t filter = 0; filter < filters; ++filter) {
      const int64_t group = filter / (filters / of.groups);
      std::ranges::fill(sums, bias[size_t(filter)]);
      add_convolution(windows, padded.data() + group * depth * y.padded() * x.padded(),
                      kernels.data() + filter * depth * y.window * x.window, sums.data());
      for (int64_t row = 0; row < y.count(); ++row) {
        const auto begin = sums.begin() + row * x.padded();
        to = std::transform(begin, begin + x.count(), to, [](double sum) { return float(sum); });
      }
    }
  }
  call.give(std::move(result));
  return {};
}

/// Returns the size of a transposed convolution's result along one axis: the elements that windows cover, less the padding,
/// plus `beyond` elements (from the attribute "output_padding").
Result<int64_t> transposed_size(const WindowAxis& axis, int64_t beyond) {
  const int64_t size = (axis.size - 1) * axis.stride + axis.span() - axis.before - axis.after;
  if (beyond >= 0 && beyond <= std::max(axis.stride, axis.dilation) && size + beyond >= 0) return size + beyond;
  return invalid_argument("the result would have " + std::to_string(size) + " and " + std::to_string(beyond) +
                          " elements along an axis");
}

/// Adds to `sums`, an output channel of a transposed convolution, the contribution of one input channel, `picture`. Each
/// element of the picture has a window in the output channel, to which the element times the kernel is added.
void add_windows(const WindowAxes& axes, const float* picture, const float* kernel, int64_t height, int64_t width,
                 std::vector<double>& sums) {
  const auto& [y, x] = axes;
  for (int64_t place = 0; place < y.size * y.window; ++place) {
    const int64_t from_y = place / y.window, window_y = place % y.window;
    const int64_t to_y = from_y * y.stride + window_y * y.dilation - y.before;
    if (to_y < 0 || to_y >= height) continue;
    for (int64_t from_x = 0; from_x < x.size; ++from_x) {
      const double value = picture[from_y * x.size + from_x];
      for (int64_t window_x = 0; window_x < x.window; ++window_x) {
        const int64_t to_x = from_x * x.stride + window_x * x.dilation - x.before;
        if (to_x < 0 || to_x >= width) continue;
        sums[size_t(to_y * width + to_x)] += value * double(kernel[window_y * x.window + window_x]);
      }
    }
  }
}

Result<void> run_conv_transpose(Call& call) {
  SHOAL_TRY(const Convolved of, convolved(call));
  const auto& [y, x] = of.axes;
  const Shape &pictures = call.shape(0), &kernel = call.shape(1);
  const int64_t channels = pictures[1], per_group = kernel[1], depth = channels / of.groups;
  if (channels != kernel[0]) return unfit_channels(call);
  const std::vector<int64_t> beyond = call.numbers("output_padding", {0, 0});
  if (beyond.size() != 2) return invalid_argument("attribute \"output_padding\" is not two numbers");
  SHOAL_TRY(const int64_t height, transposed_size(y, beyond[0]));
  SHOAL_TRY(const int64_t width, transposed_size(x, beyond[1]));
  SHOAL_TRY_VOID(call.budget().take({per_group, of.groups}));
  const int64_t filters = per_group * of.groups;
  SHOAL_TRY(Tensor result, call.make(DType::kFloat32, Shape{pictures[0], filters, height, width}));
  SHOAL_TRY(const std::vector<double> bias, biases(call, filters));
  SHOAL_TRY(std::vector<double> sums, call.sums({height, width}));
  SHOAL_TRY_VOID(call.budget().take({pictures[0], filters, depth, y.size, x.size, y.window, x.window}));
  const float* const all = call.in(0).as<float>().data();
  const float* const kernels = call.in(1).as<float>().data();
  auto to = result.mutable_as<float>().begin();
  for (int64_t n = 0; n < pictures[0]; ++n) {
    for (int64_t filter = 0; filter < filters; ++filter) {
      std::ranges::fill(sums, bias[size_t(filter)]);
      for (int64_t i = 0; i < depth; ++i) {
        const int64_t channel = filter / per_group * depth + i;
        add_windows(of.axes, all + (n * channels + channel) * y.size * x.size,
                    kernels + (channel * per_group + filter % per_group) * y.window * x.window, height, width, sums);
      }
      for (const double sum : sums) *to++ = float(sum);
    }
  }
  call.give(std::move(result));
  return {};
}

}  // namespace

void add_convolutions(Kernels& kernels) {
  const std::vector<KnownAttribute> of_windows{
      {"auto_pad", AttributeType::kText, "NOTSET"}, {"dilations", AttributeType::kInts}, {"group", AttributeType::kInt},
      {"kernel_shape", AttributeType::kInts},       {"pads", AttributeType::kInts},      {"strides", AttributeType::kInts}};
  kernels["Conv"] = {run_conv, 2, 3, of_windows};
  std::vector<KnownAttribute> transposed = of_windows;
  transposed.push_back({"output_padding", AttributeType::kInts});
  kernels["ConvTranspose"] = {run_conv_transpose, 2, 3, transposed};
}

}  // namespace shoal::convert::onnx_model
