// SPDX-License-Identifier: Apache-2.0
// Convolutions, their gradients for the image, and transposed convolutions, all computed as correlations (correlation.h).
#include <numeric>
#include <vector>

#include "convolution.h"
#include "depthwise.h"
#include "sources.h"

namespace shoal::backends::portable {
namespace {

/// Returns one axis of a correlation that computes a part of the image's gradient from the result's gradient. This part is
/// the elements h with (h + before) % stride == phase, where `before` is the padding in front. Each element is a sum over
/// those filter elements (taps) that the forward pass has multiplied with it. The correlation reads `forward.out` elements,
/// and writes some of the `forward.in` elements.
Axis phase_of(const Axis& forward, int64_t phase) {
  const int64_t stride = forward.stride, dilation = forward.dilation, before = -forward.begin;
  const int64_t together = std::gcd(stride, dilation), tap_step = stride / together;
  int64_t first = 0;
  while (first < forward.taps && first * dilation % stride != phase) ++first;
  const int64_t target = ((phase - before) % stride + stride) % stride;
  Axis axis{.in = forward.out,
            .out = target < forward.in ? (forward.in - 1 - target) / stride + 1 : 0,
            .taps = first < forward.taps ? (forward.taps - 1 - first) / tap_step + 1 : 0,
            .dilation = dilation / together,
            .target_begin = target,
            .target_step = stride,
            .tap_step = -tap_step};
  // Goes through the filter elements (taps) from the last to the first. The elements of the result's gradient are then
  // read in the order of memory.
  axis.tap_begin = first + (axis.taps - 1) * tap_step;
  axis.begin = axis.taps == 0 ? 0 : (target + before - first * dilation) / stride - (axis.taps - 1) * axis.dilation;
  return axis;
}

}  // namespace

std::unique_ptr<Kernel> make_conv2d(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Convolution c(request.node.attributes, request.inputs[0].shape, request.inputs[1].shape, request.outputs[0].shape);
  if (c.is_depthwise()) return make_depthwise(request.threads, c, request.inputs.size() > 2, fused_relu(request));
  if (!c.takes_panels()) return nullptr;
  const Correlation correlation{.images = c.images,
                                .groups = c.groups,
                                .down = c.down,
                                .right = c.right,
                                .in_channels = c.channels,
                                .out_channels = c.filters,
                                .target_height = c.down.out,
                                .target_width = c.right.out,
                                .out_step = c.channels * c.taps(),
                                .in_step = c.taps(),
                                .group_step = c.filters * c.channels * c.taps(),
                                .filter_width = c.right.taps};
  return std::make_unique<CorrelationKernel>(request, std::vector{correlation}, request.inputs.size() > 2,
                                             fused_relu(request));
}

std::unique_ptr<Kernel> make_conv2d_grad_input(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Convolution c(request.node.attributes, request.outputs[0].shape, request.inputs[1].shape, request.inputs[0].shape);
  const bool biased = request.node.op == "conv2d_transpose" && request.inputs.size() > 2;
  if (c.is_depthwise()) return make_depthwise_grad_input(request.threads, c, biased);
  if (!c.takes_panels()) return nullptr;
  std::vector<Correlation> parts;
  for (int64_t i = 0; i < c.down.stride; ++i) {
    for (int64_t j = 0; j < c.right.stride; ++j) {
      Axis down = phase_of(c.down, i), right = phase_of(c.right, j);
      if (down.taps == 0 || right.taps == 0) down.taps = right.taps = 0;
      parts.push_back({.images = c.images,
                       .groups = c.groups,
                       .down = down,
                       .right = right,
                       .in_channels = c.filters,
                       .out_channels = c.channels,
                       .target_height = c.down.in,
                       .target_width = c.right.in,
                       .out_step = c.taps(),
                       .in_step = c.channels * c.taps(),
                       .group_step = c.filters * c.channels * c.taps(),
                       .filter_width = c.right.taps});
    }
  }
  return std::make_unique<CorrelationKernel>(request, std::move(parts), biased, false);
}

}  // namespace shoal::backends::portable
