// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/residual.h"

#include "layers.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/conv2d.h"

namespace shoal::nn {

Value residual_block(Value x, Mode mode, const ResidualBlockOptions& options) {
  check_input(options.name, x, 4, "[batch, height, width, channels]");
  const auto scope = x.graph().scope(options.name);
  auto conv = [&](Value in, Extent kernel, Extent strides, const char* name) {
    return conv2d(in, {.filters = options.filters,
                       .kernel = kernel,
                       .strides = strides,
                       .padding = Padding::same(),
                       .use_bias = false,
                       .kernel_initializer = options.kernel_initializer,
                       .kernel_regularizer = options.kernel_regularizer,
                       .name = name});
  };
  auto norm = [&](Value in, Activation activation, const char* name) {
    return batch_norm(in, mode,
                      {.decay = options.decay, .epsilon = options.epsilon, .activation = activation, .name = name});
  };
  // The ops of the shortcut come first, so that the block's last normalization can add the shortcut in the same pass.
  Value shortcut = x;
  if (options.strides != Extent(1) || x.shape()[3] != Dim(options.filters)) {
    shortcut = norm(conv(x, 1, options.strides, "shortcut"), Activation::kNone, "shortcut_norm");
  }
  Value y = norm(conv(x, 3, options.strides, "conv2d"), Activation::kRelu, "batch_norm");
  y = norm(conv(y, 3, 1, "conv2d"), Activation::kNone, "batch_norm");
  return ops::relu(y + shortcut);
}

}  // namespace shoal::nn
