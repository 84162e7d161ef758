// SPDX-License-Identifier: Apache-2.0
#pragma once
/// ResNet-20 as a model function.
#include <array>
#include <cstdint>

#include "shoal/estimator/model_fn.h"

namespace cifar {

/// The mean colour of CIFAR-10's training pictures (red, green, blue), rounded.
constexpr std::array<uint8_t, 3> kMeanColour{125, 123, 114};

/// Classifies pictures, uint8 [batch, 32, 32, 3], by ResNet-20, trained as in its paper: momentum 0.9, weight decay 1e-4,
/// and a learning rate that falls to a tenth after half of the steps and to a hundredth after three quarters.
///
/// Parameters: `classes`, the numbers of the chosen CIFAR-10 classes ("0,3,7"; a label is a position in this list);
/// `learning_rate` at the first step; `steps`, the number of all steps; `frozen`: true trains only the last layer and
/// changes nothing below, not even moving averages; `recompute`: true takes less memory and more time.
/// Source: He, Zhang, Ren, Sun, "Deep residual learning for image recognition" (CVPR 2016), section 4.2.
shoal::EstimatorSpec classify(const shoal::Features& pictures, const shoal::Labels& labels, shoal::Mode mode,
                              const shoal::Params& params);

}  // namespace cifar
