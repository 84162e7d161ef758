// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Digits as a hand might draw them, for when the real data is not at hand.
#include <cstdint>

#include "images.h"

namespace mnist {

/// `count` images of the ten digits in equal parts, in random order: strokes with random slant, size, place, thickness and
/// wobble, and noise. A pure function of its arguments.
Images draw_digits(int64_t count, uint64_t seed);

}  // namespace mnist
