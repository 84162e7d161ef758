// SPDX-License-Identifier: Apache-2.0
#pragma once
/// New pictures from old ones: what a network should not mind.
#include <optional>

#include "shoal/data/dataset.h"

namespace cifar {

/// Each picture, uint8 [32, 32, 3], moved by up to four pixels in each direction (the edge that comes in has the mean value of the data set),
/// and half of them mirrored: a random crop of 32 x 32 of the picture with four pixels around it. The choice is drawn for each picture
/// in each pass, from `seed`, or else from that of the run.
/// Source: He, Zhang, Ren, Sun, "Deep residual learning for image recognition" (CVPR 2016), section 4.2.
shoal::data::Dataset augment(const shoal::data::Dataset& pictures, std::optional<int64_t> seed = {});

}  // namespace cifar
