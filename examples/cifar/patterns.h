// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Draws pictures of ten patterns, for runs without the files of CIFAR-10.
#include <cstdint>

#include "records.h"

namespace cifar {

/// Draws `count` pictures of ten classes in equal parts, in random order: stripes that are horizontal (0 wide, 1 narrow),
/// vertical (2, 3) or slanting (4), chequers (5 wide, 6 narrow), dots (7), rings (8), a net (9). Place, size, turn and two
/// colours are random, colours independent of the class; there is noise. A pure function of its arguments.
Images draw_patterns(int64_t count, uint64_t seed);

}  // namespace cifar
