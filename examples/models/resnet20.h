// SPDX-License-Identifier: Apache-2.0
#pragma once
/// ResNet-20 for images of 32 x 32 pixels. Source: He, Zhang, Ren, Sun, "Deep residual learning for image recognition"
/// (CVPR 2016), section 4.2.
#include <cstdint>

#include "shoal/graph/graph.h"
#include "shoal/nn/mode.h"
#include "shoal/nn/regularizer.h"

namespace models {

struct ResNet20Options {
  int64_t classes = 10;
  /// The regularizer of all kernels. The paper's weight decay of 1e-4 is .l2 = 5e-5, since the penalty here is not
  /// halved.
  shoal::nn::Regularizer kernel_regularizer;
  bool recompute = false;  ///< True: recomputes blocks for the gradient, with less memory but more time (nn::recompute()).
  double norm_decay = 0.99;  ///< A moving average keeps this fraction of its value at each step.
};

/// Returns logits. A 3x3 convolution of 16 filters, then three stages of three basic blocks with 16, 32 and 64 filters,
/// the first block of the second and third stage with a stride of 2, then the mean of each channel and a dense layer:
/// 20 layers with weights. Shortcuts are the identity where shapes allow. In the two blocks with a stride of 2 they are
/// projections (the paper's option B); the paper's own networks of this size pad with zeros (option A), which saves
/// 2,752 of the 272,474 trainable parameters.
///
///   images   [batch, 32, 32, 3]   float32, around 0
///   returns  [batch, classes]     float32
shoal::Value resnet20(shoal::Value images, shoal::nn::Mode mode, const ResNet20Options& options = {});

}  // namespace models
