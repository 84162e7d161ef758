// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Draws digits that look handwritten, for runs without the files of MNIST.
#include <cstdint>

#include "images.h"

namespace mnist {

/// Draws `count` images of the ten digits in equal parts, in random order: strokes of random slant, size, place, thickness
/// and wobble, with noise. A pure function of its arguments.
Images draw_digits(int64_t count, uint64_t seed);

}  // namespace mnist
