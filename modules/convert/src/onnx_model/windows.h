// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The movement of a window over pictures of [N, C, H, W], for convolutions and pools.
#include "onnx_model/kernel.h"

namespace shoal::convert::onnx_model {

/// One of the two axes of a picture.
struct WindowAxis {
  int64_t size = 0;    ///< The size of the picture along this axis.
  int64_t window = 0;  ///< The number of elements of the window.
  int64_t stride = 1, dilation = 1, before = 0, after = 0;

  /// The distance from the first element of a window to the end of its last element.
  int64_t span() const { return (window - 1) * dilation + 1; }
  int64_t padded() const { return size + before + after; }
  /// The number of windows.
  int64_t count() const { return (padded() - span()) / stride + 1; }
};

struct WindowAxes {
  WindowAxis y, x;
};

/// Reads "strides", "pads" and "dilations". InvalidArgument if they are not those of two axes, are negative or huge, or
/// if `window` or the picture (input 0) has a size of 0.
Result<WindowAxes> window_axes(const Call& call, int64_t window_height, int64_t window_width);

/// InvalidArgument if the window is larger than the padded picture.
Result<void> check_windows_fit(const WindowAxes& axes);

}  // namespace shoal::convert::onnx_model
