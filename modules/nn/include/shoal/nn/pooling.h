// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Maximum and mean over windows of images.
#include "shoal/graph/graph.h"
#include "shoal/nn/window.h"

namespace shoal::nn {

struct PoolOptions {
  Extent window = 2;
  Extent strides = 0;                  ///< 0: the size of the window, so that windows do not overlap.
  Padding padding = Padding::valid();  ///< Alternatively Padding::same(), which gives ceil(size / stride) outputs.
};

/// The maximum of each window and channel; padding is never the maximum.
///
///   x        [batch, H, W, channels]    float32; only batch may be a symbol
///   returns  [batch, OH, OW, channels]  float32, OH = (H + padding - window) / stride + 1, rounded down
///
/// Of equal maxima the first one (row by row) receives the gradient. Raises InvalidArgument if x is not of rank 4, a
/// size of the window is < 1, the window has more than 256 elements, or does not fit into the padded image.
Value max_pool(Value x, const PoolOptions& options = {});
/// The mean of each window and channel; padding is not counted. Shapes and errors as max_pool().
Value avg_pool(Value x, const PoolOptions& options = {});

/// The maximum, or the mean, of each whole image and channel: [batch, H, W, channels] to [batch, channels]. Most
/// networks since 2014 use one of the two between the last convolution and the logits. Raises InvalidArgument if x is
/// not of rank 4, not float32, or has no pixel.
Value global_max_pool(Value x);
Value global_avg_pool(Value x);

}  // namespace shoal::nn
