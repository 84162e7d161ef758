#pragma once
/// Pictures of ten shapes, for when the real data is not at hand.
#include <cstdint>

#include "records.h"

namespace cifar {

/// `count` pictures of ten classes in equal parts, in random order: a disc, a ring, a square, a frame, a triangle, a plus,
/// stars of three and of five points, stripes and a chequerboard, of random place, size, turn and colours, with noise. No
/// class has colours of its own. A pure function of its arguments.
Images draw_shapes(int64_t count, uint64_t seed);

}  // namespace cifar
