#pragma once
/// For loops of our own (see base/vector_loop.h): what several of them compute with.
#include <bit>
#include <cstdint>
#include <limits>

#include "shoal/base/vector_loop.h"

namespace shoal::backends::onednn {

/// e^x within 2 units in the last place, between -87.3 and 88; 0 below (where it would be denormal), infinity above; NaN
/// stays NaN.
/// Written so that compilers vectorise it. Range reduction and polynomial: Cephes, expf.c (Moshier).
SHOAL_ALWAYS_INLINE float vector_exp(float x) {
  // NaN becomes a number too: its conversion to an integer is undefined.
  const float bounded = x >= -87.3f ? (x <= 88.0f ? x : 88.0f) : -87.3f;
  // Adding and subtracting 1.5 * 2^23 rounds to an integer.
  const float magic = 12582912.0f;
  const float n = (bounded * 1.44269504088896341f + magic) - magic;
  const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float y = (p * (r * r) + r) + 1.0f;
  const float power = std::bit_cast<float>((int32_t(n) + 127) << 23);
  const float inside = x <= 88.0f ? y * power : std::numeric_limits<float>::infinity();
  return x >= -87.3f ? inside : (x < -87.3f ? 0.0f : x);
}

/// 1 / (1 + e^-x) within 4 units in the last place; NaN stays NaN.
SHOAL_ALWAYS_INLINE float vector_sigmoid(float x) { return 1.0f / (1.0f + vector_exp(-x)); }

/// The hyperbolic tangent within 4 units in the last place; NaN stays NaN. Cephes, tanhf.c (Moshier).
SHOAL_ALWAYS_INLINE float vector_tanh(float x) {
  const float size = x < 0.0f ? -x : x;
  const float square = x * x;
  float p = -5.70498872745e-3f;
  p = p * square + 2.06390887954e-2f;
  p = p * square - 5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square - 3.33332819422e-1f;
  const float near_zero = p * square * x + x;
  const float away = 1.0f - 2.0f / (vector_exp(size + size) + 1.0f);
  return size < 0.625f ? near_zero : (x < 0.0f ? -away : away);
}

/// term(0) + ... + term(count - 1) in a fixed order: `kLanes` running sums, then those pairwise.
template <int kLanes, class Term>
SHOAL_ALWAYS_INLINE float sum_in_lanes(int64_t count, Term term) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  }
  for (int lane = 0; i < count; ++i, ++lane) lanes[lane] += term(i);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

}  // namespace shoal::backends::onednn
