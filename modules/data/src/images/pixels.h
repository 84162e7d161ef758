// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Arithmetic of pixels, one by one.
#include <cstdint>

namespace shoal::data {

/// The luma of a colour, rounded. Source: ITU-R BT.601, weights 0.299, 0.587 and 0.114 in 1/65536.
inline uint8_t luma_of(const uint8_t* rgb) {
  return uint8_t((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
}
inline float luma_of(const float* rgb) { return 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2]; }

/// Returns a * b / 255, rounded, for a and b from 0 to 255: the product of two fractions, each in units of 1/255.
inline uint8_t product_of_bytes(uint8_t a, uint8_t b) {
  const unsigned product = unsigned(a) * b + 128u;
  return uint8_t((product + (product >> 8)) >> 8);
}

/// Returns the whole number from 0 to 255 that is nearest to `x`; of two equally near, the larger. NaN becomes 0.
inline uint8_t nearest_byte(float x) { return x > 0.0f ? (x < 255.0f ? uint8_t(x + 0.5f) : uint8_t(255)) : uint8_t(0); }

/// Converts a result of arithmetic to the type of a pixel.
template <class T>
T to_pixel(float x);
template <>
inline uint8_t to_pixel<uint8_t>(float x) {
  return nearest_byte(x);
}
template <>
inline float to_pixel<float>(float x) {
  return x;
}

}  // namespace shoal::data
