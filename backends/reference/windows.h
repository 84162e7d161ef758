// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Visits the windows of images, for convolutions and pooling.
#include <algorithm>
#include <cstdint>

#include "shoal/base/shape.h"
#include "shoal/graph/attributes.h"

namespace shoal::backends::reference {

/// The sizes of images [N,H,W,C] and of the windows [OH,OW] in each image, and the positions of the windows.
struct Windows {
  int64_t images, height, width, channels;
  int64_t out_height, out_width;
  int64_t window_height, window_width;
  int64_t stride_down, stride_right;
  int64_t top, left;
  int64_t dilation_down, dilation_right;

  Windows(const Shape& image, const Shape& out, int64_t window_high, int64_t window_wide, const Attributes& attributes)
      : images(image[0]),
        height(image[1]),
        width(image[2]),
        channels(image[3]),
        out_height(out[1]),
        out_width(out[2]),
        window_height(window_high),
        window_width(window_wide),
        stride_down(attributes.get_ints("strides")[0]),
        stride_right(attributes.get_ints("strides")[1]),
        top(attributes.get_ints("padding")[0]),
        left(attributes.get_ints("padding")[2]),
        dilation_down(attributes.get_ints("dilations", {1, 1})[0]),
        dilation_right(attributes.get_ints("dilations", {1, 1})[1]) {}

  /// One row of one window, limited to the part inside the image.
  struct Row {
    int64_t out;      ///< The window's index among the windows [N, OH, OW] of all images.
    int64_t pixel;    ///< The index of the row's first pixel among the pixels [N, H, W] of all images.
    int64_t element;  ///< The index of the row's first pixel within the window [KH, KW].
    int64_t pixels;   ///< The number of pixels in the row; they are contiguous.
  };

  /// Calls visit(row) for every row of window (n, oh, ow), from top to bottom. The pixels of a dilated window are not
  /// contiguous, so for such a window each pixel is visited as a row of its own.
  template <class Visit>
  void visit_rows(int64_t n, int64_t oh, int64_t ow, Visit visit) const {
    const int64_t first_row = oh * stride_down - top;
    const int64_t first_column = ow * stride_right - left;
    const int64_t out = (n * out_height + oh) * out_width + ow;
    const int64_t kw_begin = std::max<int64_t>(0, -first_column);
    const int64_t kw_end = std::min(window_width, width - first_column);
    for (int64_t kh = 0; kh < window_height; ++kh) {
      const int64_t h = first_row + kh * dilation_down;
      if (h < 0 || h >= height) continue;
      const int64_t row = (n * height + h) * width;
      if (dilation_right == 1) {
        if (kw_begin < kw_end) {
          visit(Row{out, row + first_column + kw_begin, kh * window_width + kw_begin, kw_end - kw_begin});
        }
        continue;
      }
      for (int64_t kw = 0; kw < window_width; ++kw) {
        const int64_t w = first_column + kw * dilation_right;
        if (w >= 0 && w < width) visit(Row{out, row + w, kh * window_width + kw, 1});
      }
    }
  }

  template <class Visit>
  void visit_windows(Visit visit) const {
    for (int64_t oh = 0; oh < out_height; ++oh) {
      for (int64_t ow = 0; ow < out_width; ++ow) visit(oh, ow);
    }
  }
};

}  // namespace shoal::backends::reference
