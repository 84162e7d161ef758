// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The two 16-bit floating-point formats. Conversion rounds to the nearest number; if two are equally near, to the even
/// one. Numbers beyond the largest become infinity. A NaN stays a NaN (quiet, with its sign).
///
/// bfloat16: the upper half of a float32, with the range of a float32 and 8 bits of precision (Kalamkar et al. 2019, "A
/// Study of BFLOAT16 for Deep Learning Training"). Denormals are converted as all other numbers are. float16: binary16 of
/// IEEE 754-2019, 11 bits of precision, up to 65504, down to 2^-24. (Where denormal float32 numbers count as zero, see
/// flush_denormals(), they become zero here, too: they are far smaller than any float16.)
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

SHOAL_ALWAYS_INLINE float from_float16(uint16_t half) {
  const uint32_t sign = uint32_t(half & 0x8000u) << 16, magnitude = half & 0x7fffu;
  const uint32_t special = 0x7f800000u | (magnitude << 13);
  const uint32_t normal = (magnitude << 13) + 0x38000000u;
  const auto denormal = std::bit_cast<uint32_t>(float(magnitude) * 0x1p-24f);
  const uint32_t bits = magnitude >= 0x7c00u ? special : magnitude >= 0x0400u ? normal : denormal;
  return std::bit_cast<float>(sign | bits);
}

SHOAL_ALWAYS_INLINE uint16_t to_float16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  // Floats in [1/2, 1) are 2^-24 apart, like denormal float16 numbers. So adding 1/2 rounds the number to a multiple of
  // 2^-24, and the lowest bits of the sum are those of the float16.
  const uint32_t denormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t finite = magnitude < 0x38800000u ? denormal : normal;
  const uint32_t half = magnitude > 0x7f800000u ? 0x7e00u : magnitude >= 0x477ff000u ? 0x7c00u : finite;
  return uint16_t(((bits >> 16) & 0x8000u) | half);
}

/// to[i] = from[i] with the precision of bfloat16. `to` may be `from`.
void round_to_bfloat16(const float* from, float* to, int64_t count);

}  // namespace shoal
