// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Blocks that add their result to their input. Source: He, Zhang, Ren, Sun, "Deep residual learning for image recognition"
/// (CVPR 2016).
#include <cstdint>
#include <string>

#include "shoal/graph/graph.h"
#include "shoal/nn/initializers.h"
#include "shoal/nn/mode.h"
#include "shoal/nn/normalization.h"
#include "shoal/nn/regularizer.h"
#include "shoal/nn/window.h"

namespace shoal::nn {

struct ResidualBlockOptions {
  int64_t filters = 0;  ///< Output channels, >= 1. There is no default.
  Extent strides = 1;   ///< The strides of the first convolution and of the shortcut.
  InitializerSpec kernel_initializer = he_normal();
  /// A penalty on the weights. Heads add this penalty to their loss. Add nn::regularization_loss(graph) to your own loss.
  Regularizer kernel_regularizer = {};
  double decay = 0.99;  ///< The decay and, below, the epsilon of the batch normalizations.
  double epsilon = 1e-3;
  std::string name = "residual";  ///< The scope of the variables; a second layer gets "residual_1".
};

/// The basic block: relu(shortcut(x) + norm(convolution(relu(norm(convolution(x)))))). Both convolutions are 3x3, with same
/// padding and without biases. The shortcut is x itself if strides are 1 and channels = filters, else a 1x1 convolution and
/// its normalization (option B of the paper).
///
///   x        [batch, H, W, channels]    float32; only batch may be a symbol
///   returns  [batch, ceil(H / stride), ceil(W / stride), filters]
///
/// Adds variables in the scopes "<name>/conv2d", "<name>/batch_norm", "<name>/conv2d_1", "<name>/batch_norm_1" and, if the
/// shortcut is a convolution, "<name>/shortcut" and "<name>/shortcut_norm". Errors as in conv2d() and batch_norm().
Value residual_block(Value x, Mode mode, const ResidualBlockOptions& options);

}  // namespace shoal::nn
