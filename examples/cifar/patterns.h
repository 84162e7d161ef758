// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Draws pictures of ten patterns, for runs without the files of CIFAR-10.
#include <cstdint>

#include "records.h"

namespace cifar {

/// Draws `count` pictures of ten classes in equal parts, in random order. The classes, with their labels: stripes that are
/// horizontal (0 wide, 1 narrow), vertical (2 wide, 3 narrow) or slanting (4), chequers (5 wide, 6 narrow), dots (7), rings
/// (8), a net (9). Place, size, rotation and the two colours are random, whatever the class. Noise is added. A pure
/// function of its arguments.
Images draw_patterns(int64_t count, uint64_t seed);

}  // namespace cifar
