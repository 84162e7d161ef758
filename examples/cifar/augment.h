// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Makes new training pictures from old ones by changes that do not change the class.
#include <optional>

#include "shoal/data/dataset.h"

namespace cifar {

/// Changes each picture, uint8 [32, 32, 3], at random. Adds a border of four pixels, which has the mean value of the data
/// set, and cuts out 32 x 32 pixels at a random place. Then mirrors the picture with probability one half. The changes
/// differ in each epoch. They are drawn from `seed`; without it, from the seed of the run.
/// Source: He, Zhang, Ren, Sun, "Deep residual learning for image recognition" (CVPR 2016), section 4.2.
shoal::data::Dataset augment(const shoal::data::Dataset& pictures, std::optional<int64_t> seed = {});

}  // namespace cifar
