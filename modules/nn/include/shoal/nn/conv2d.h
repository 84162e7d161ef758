#pragma once
/// Two-dimensional convolution (cross-correlation, as everywhere in this field).
#include <cstdint>
#include <string>

#include "shoal/graph/graph.h"
#include "shoal/nn/activation.h"
#include "shoal/nn/initialisers.h"
#include "shoal/nn/regulariser.h"
#include "shoal/nn/window.h"

namespace shoal::nn {

struct Conv2dOptions {
  int64_t filters = 0;  ///< output channels, >= 1; has no default
  Extent kernel = 3;
  Extent strides = 1;
  Padding padding = Padding::valid();  ///< or Padding::same(): ceil(size / stride) outputs
  Activation activation = Activation::kNone;
  bool use_bias = true;
  InitialiserSpec kernel_initialiser = glorot_uniform();
  InitialiserSpec bias_initialiser = zeros();
  Regulariser kernel_regulariser;
  Regulariser bias_regulariser;
  bool trainable = true;
  std::string name = "conv2d";  ///< scope of the variables; a second one becomes "conv2d_1"
};

/// activation(convolution of x with the kernel, + bias).
///
///   x        [batch, H, W, channels]     float32; only batch may be a symbol
///   returns  [batch, OH, OW, filters]    float32, OH = (H + padding - KH) / stride + 1, rounded down
///
/// Adds variables "<name>/kernel" [filters, channels, kernel height, kernel width] and, with use_bias, "<name>/bias"
/// [filters]. Raises InvalidArgument if x is not of rank 4, not float32, if filters, kernel or strides are < 1, or
/// if the kernel does not fit into the padded image.
Value conv2d(Value x, const Conv2dOptions& options);

}  // namespace shoal::nn
