// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Further convolutions, and pooling over whole images. See ops.h.
#include <array>
#include <cstdint>
#include <string_view>

#include "shoal/graph/graph.h"
#include "shoal/graph/window.h"

namespace shoal::ops {

struct Conv1dOptions {
  int64_t stride = 1;  ///< A number >= 1.
  /// Pads with zeros. Explicit sizes apply to left and right; top and bottom have to be 0.
  Padding padding = Padding::valid();
  int64_t dilation = 1;  ///< A number >= 1.
  int64_t groups = 1;    ///< As in Conv2dOptions::groups.
};
/// Cross-correlation along one axis: a conv2d of images one pixel high.
///
///   x        [n, W, I]           float32
///   kernel   [O, I/groups, KW]   float32
///   bias     [O]                 float32; an invalid Value means none
///   returns  [n, OW, O]          float32, OW as in conv2d()
Value conv1d(Value x, Value kernel, Value bias = {}, const Conv1dOptions& options = {}, std::string_view name = "");

struct Conv2dTransposeOptions {
  /// The distance in the result between neighbouring pixels of x, down and right; each >= 1.
  std::array<int64_t, 2> strides{1, 1};
  /// The padding of the conv2d whose direction this op reverses. The padding does not extend x here: it says how many rows
  /// and columns are cut off the borders of the result.
  Padding padding = Padding::valid();
  /// Rows and columns that are added at the bottom and right of the result; each below the stride.
  std::array<int64_t, 2> output_padding{0, 0};
  std::array<int64_t, 2> dilations{1, 1};  ///< The dilations down and right; each >= 1.
  int64_t groups = 1;                      ///< As in Conv2dOptions::groups.
};
/// Transposed convolution: computes the gradient of conv2d(y, kernel) with respect to y, where x is the gradient of the
/// result of conv2d. It makes images larger where conv2d makes them smaller.
///
///   x        [n, H, W, I]            float32
///   kernel   [I, O/groups, KH, KW]   float32; I and O are multiples of groups
///   bias     [O]                     float32; an invalid Value means none
///   returns  [n, OH, OW, O]          float32, OH = (H - 1) * stride - top - bottom + window + output_padding, where
///                                    window = (KH - 1) * dilation + 1; OW likewise. With same padding, OH = H * stride,
///                                    and output_padding is not used
///
/// Source: Dumoulin, Visin, "A guide to convolution arithmetic for deep learning" (2016), chapter 4.
Value conv2d_transpose(Value x, Value kernel, Value bias = {}, const Conv2dTransposeOptions& options = {},
                       std::string_view name = "");

/// The mean of each image and channel, [n, H, W, C] to [n, C], float32.
Value global_avg_pool(Value x, std::string_view name = "");
/// The largest element of each image and channel, [n, H, W, C] to [n, C], float32. The gradient goes to the first maximum
/// (row by row). NaN counts as the largest.
Value global_max_pool(Value x, std::string_view name = "");

}  // namespace shoal::ops
