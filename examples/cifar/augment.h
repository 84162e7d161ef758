// SPDX-License-Identifier: Apache-2.0
#pragma once
/// New pictures from old ones: what a network should not mind.
#include "shoal/base/random.h"
#include "shoal/data/dataset.h"

namespace cifar {

/// Each picture, uint8 [32, 32, 3], moved by up to four pixels in each direction (the edge that comes in has the data set's
/// mean colour), and half of them mirrored: a random crop of 32 x 32 of the picture with four pixels around it. The choice
/// follows from `key` and from how many pictures came before. So it is another one in each pass if repeat() stands before,
/// the same again after a restart, and the same for replicas in one process as for a cluster.
/// Source: He, Zhang, Ren, Sun, "Deep residual learning for image recognition" (CVPR 2016), section 4.2.
shoal::data::Dataset augment(const shoal::data::Dataset& pictures, shoal::RandomKey key);

}  // namespace cifar
