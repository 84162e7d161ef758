// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tests whether numbers are finite by looking at their bits: -ffast-math in a parent project compiles std::isfinite()
/// away.
#include <bit>
#include <cstdint>
#include <span>

#include "shoal/base/vector_loop.h"

namespace shoal {

/// The bits of infinity. Sign aside, the bits of every NaN are larger and the bits of every other number are smaller.
inline constexpr int32_t kInfinityBits = 0x7f800000;

/// The bits of |x|. As integers they have the order of the numbers, NaN last, so a loop may compute their maximum.
SHOAL_ALWAYS_INLINE int32_t magnitude_bits(float x) { return std::bit_cast<int32_t>(x) & 0x7fffffff; }

inline bool is_finite(float x) { return magnitude_bits(x) < kInfinityBits; }
inline bool is_nan(float x) { return magnitude_bits(x) > kInfinityBits; }
inline bool is_finite(double x) {
  constexpr uint64_t kExponent = uint64_t(0x7ff) << 52;
  return (std::bit_cast<uint64_t>(x) & kExponent) != kExponent;
}
inline bool is_nan(double x) {
  constexpr uint64_t kExponent = uint64_t(0x7ff) << 52;
  return (std::bit_cast<uint64_t>(x) & ~(uint64_t(1) << 63)) > kExponent;
}

/// Whether all `values` are finite. Reads the memory once.
bool all_finite(std::span<const float> values);

}  // namespace shoal
