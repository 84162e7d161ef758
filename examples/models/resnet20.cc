// SPDX-License-Identifier: Apache-2.0
#include "resnet20.h"

#include "shoal/nn/conv2d.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/pooling.h"
#include "shoal/nn/recompute.h"
#include "shoal/nn/residual.h"

namespace models {

namespace nn = shoal::nn;

shoal::Value resnet20(shoal::Value images, nn::Mode mode, const ResNet20Options& options) {
  shoal::Value x = nn::conv2d(images, {.filters = 16,
                                       .padding = shoal::Padding::same(),
                                       .use_bias = false,
                                       .kernel_initializer = nn::he_normal(),
                                       .kernel_regularizer = options.kernel_regularizer});
  x = nn::batch_norm(x, mode, {.decay = options.norm_decay, .activation = nn::Activation::kRelu});
  for (int64_t filters : {16, 32, 64}) {
    for (int block = 0; block < 3; ++block) {
      const int strides = filters > 16 && block == 0 ? 2 : 1;
      const auto residual = [&](shoal::Value in) {
        return nn::residual_block(in, mode,
                                  {.filters = filters,
                                   .strides = strides,
                                   .kernel_regularizer = options.kernel_regularizer,
                                   .decay = options.norm_decay});
      };
      x = options.recompute ? nn::recompute(x, residual) : residual(x);
    }
  }
  return nn::dense(nn::global_avg_pool(x), {.units = options.classes,
                                            .kernel_initializer = nn::he_normal(),
                                            .kernel_regularizer = options.kernel_regularizer,
                                            .name = "logits"});
}

}  // namespace models
