#pragma once
/// bfloat16: the upper half of a float32, so with its range and 8 bits of precision (Kalamkar et al. 2019, "A Study of
/// BFLOAT16 for Deep Learning Training"). Rounding is to the nearest, of two equally near the even one; what is beyond the
/// largest becomes infinity, a NaN stays one (quiet, of its sign), and denormals are numbers like all others.
#include <bit>
#include <cstdint>

#include "shoal/base/vector_loop.h"

namespace shoal {

SHOAL_ALWAYS_INLINE float from_bfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

SHOAL_ALWAYS_INLINE uint16_t to_bfloat16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return uint16_t((is_nan ? bits | 0x00400000u : rounded) >> 16);
}

/// to[i] = from[i] with the precision of bfloat16. `to` may be `from`.
void round_to_bfloat16(const float* from, float* to, int64_t count);

}  // namespace shoal
