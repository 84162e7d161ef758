// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Makes new training pictures from old ones by changes that do not change the class.
#include <optional>

#include "shoal/data/dataset.h"

namespace cifar {

/// Moves each picture, uint8 [32, 32, 3], by up to four pixels in each direction, and mirrors half of the pictures: a
/// random 32 x 32 crop of the picture with a border of four pixels, which have the mean value of the data set. Each pass
/// draws new changes, from `seed` or else from the seed of the run.
/// Source: He, Zhang, Ren, Sun, "Deep residual learning for image recognition" (CVPR 2016), section 4.2.
shoal::data::Dataset augment(const shoal::data::Dataset& pictures, std::optional<int64_t> seed = {});

}  // namespace cifar
