// SPDX-License-Identifier: Apache-2.0
#pragma once
/// ResNet-20 as a model function.
#include <array>
#include <cstdint>

#include "shoal/estimator/model_fn.h"

namespace cifar {

/// The mean colour of CIFAR-10's training pictures (red, green, blue), rounded.
constexpr std::array<uint8_t, 3> kMeanColour{125, 123, 114};

/// Tells pictures apart, uint8 [batch, 32, 32, 3], by ResNet-20, trained as in its paper: momentum of 0.9, weight decay of
/// 1e-4, and a learning rate that goes down to a tenth after half of the steps and to a hundredth after three quarters.
///
/// Parameters: `classes`, their numbers among CIFAR-10's, as in "0,3,7": the label of one is its place; `learning_rate`, at the first step; `steps`, how many there will be; `frozen`: true to
/// train the last layer alone, and leave all below it, moving averages of normalizations too, as it started; `recompute`: true for less
/// memory and more time.
/// Source: He, Zhang, Ren, Sun, "Deep residual learning for image recognition" (CVPR 2016), section 4.2.
shoal::EstimatorSpec classify(const shoal::Features& pictures, const shoal::Labels& labels, shoal::Mode mode,
                              const shoal::Params& params);

}  // namespace cifar
