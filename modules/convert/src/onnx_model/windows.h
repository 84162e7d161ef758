// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The walk of a window over pictures of [N, C, H, W], which convolutions and pools share.
#include "onnx_model/kernel.h"

namespace shoal::convert::onnx_model {

/// One of the two axes of a picture.
struct WindowAxis {
  int64_t size = 0;    ///< Of the picture.
  int64_t window = 0;  ///< Elements of the window.
  int64_t stride = 1, dilation = 1, before = 0, after = 0;

  /// From the first element of a window to behind its last one.
  int64_t span() const { return (window - 1) * dilation + 1; }
  int64_t padded() const { return size + before + after; }
  /// The number of windows.
  int64_t count() const { return (padded() - span()) / stride + 1; }
};

struct WindowAxes {
  WindowAxis y, x;
};

/// Reads "strides", "pads" and "dilations". InvalidArgument where they are not those of two axes, are negative or huge, or where
/// `window`, or the picture, which is input 0, has a size of 0.
Result<WindowAxes> window_axes(const Call& call, int64_t window_height, int64_t window_width);

/// InvalidArgument where the window is larger than the padded picture.
Result<void> check_windows_fit(const WindowAxes& axes);

}  // namespace shoal::convert::onnx_model
