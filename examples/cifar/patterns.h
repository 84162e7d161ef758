// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pictures of ten patterns, for when the real data is not at hand.
#include <cstdint>

#include "records.h"

namespace cifar {

/// `count` pictures of ten classes in equal parts, in random order: wide and narrow stripes, lying (0, 1) and standing (2,
/// 3), and slanting ones (4), wide and narrow chequers (5, 6), dots (7), rings (8) and a net (9), of random place, size and
/// turn, in two random colours, with noise. No class has colours of its own. A pure function of its arguments.
Images draw_patterns(int64_t count, uint64_t seed);

}  // namespace cifar
