#pragma once
/// Maximum and mean over windows of images.
#include <string>

#include "shoal/graph/graph.h"
#include "shoal/nn/window.h"

namespace shoal::nn {

struct PoolOptions {
  Extent window = 2;
  Extent strides = 2;
  Padding padding = Padding::kValid;
};

/// The maximum of each window and channel; padding never wins.
///
///   x        [batch, height, width, channels]         float32; only batch may be a symbol
///   returns  [batch, out_height, out_width, channels] float32; see Padding for the sizes
///
/// Of equal maxima the first one (row by row) receives the gradient. Raises InvalidArgument if x is not of rank 4, window or
/// strides are < 1, the window has more than 256 elements, or does not fit into the padded image.
Value max_pool(Value x, const PoolOptions& options = {});
/// The mean of each window and channel; padding is not counted. Shapes and errors as max_pool().
Value avg_pool(Value x, const PoolOptions& options = {});

}  // namespace shoal::nn
