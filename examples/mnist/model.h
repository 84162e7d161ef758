// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The three models of the example, as model functions. Parameters: `learning_rate`, the rate at the first step; `steps`,
/// the number of steps over which the rate falls to a tenth.
#include "shoal/estimator/model_fn.h"

namespace mnist {

/// 784-512-512-10: two hidden layers with relu. 0.67 million parameters.
shoal::EstimatorSpec mlp(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                         const shoal::Params& params, const shoal::RunConfig& config);

/// Two rounds of 5x5 convolution and 2x2 pooling (6, then 16 filters), dense layers of 120 and 84, ten logits. 61,706
/// parameters: suits boards and slow networks. Source: LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to
/// document recognition" (1998), section II.B, with relu and maximum pooling.
shoal::EstimatorSpec lenet5(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                            const shoal::Params& params, const shoal::RunConfig& config);

/// Two rounds of 5x5 convolution and 2x2 pooling (32, then 64 filters), a dense layer of 1024 with dropout, ten logits.
/// 3.27 million parameters.
shoal::EstimatorSpec cnn(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                         const shoal::Params& params, const shoal::RunConfig& config);

}  // namespace mnist
