#pragma once
/// For loops of our own (see base/vector_loop.h): what several of them compute with.
#include <bit>
#include <cstdint>
#include <limits>

#include "shoal/base/vector_loop.h"

namespace shoal::backends::onednn {

// Functions of one number, written so that compilers vectorise loops over them: no branch, no call. All keep NaN. Errors
// are in units in the last place (tests/onednn/vector_test.cc measures them).

/// x between two bounds; NaN stays.
SHOAL_ALWAYS_INLINE float vector_clamp(float x, float low, float high) { return x < low ? low : (x > high ? high : x); }

/// x = n log(2) + r with |r| <= log(2) / 2, and e^r - 1. Range reduction and polynomial: Cephes, expf.c (Moshier).
struct ExpParts {
  float n;
  float expm1_r;
};
SHOAL_ALWAYS_INLINE ExpParts exp_parts(float x) {
  const float magic = 12582912.0f;  // adding and subtracting 1.5 * 2^23 rounds to an integer
  const float n = (x * 1.44269504088896341f + magic) - magic;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return {n, p * (r * r) + r};
}

/// 2^n for integers n in [-126, 127].
SHOAL_ALWAYS_INLINE float power_of_two(float n) { return std::bit_cast<float>((int32_t(n) + 127) << 23); }

/// e^x, within 2 units above -87.3; 0 below (where it would be denormal), infinity above 88.72283.
SHOAL_ALWAYS_INLINE float vector_exp(float x) {
  // NaN becomes a number too: its conversion to an integer is undefined.
  const float bounded = x >= -87.3f ? (x <= 88.72283f ? x : 88.72283f) : -87.3f;
  const ExpParts parts = exp_parts(bounded);
  const float n = parts.n <= 127.0f ? parts.n : 127.0f;  // 2^128 would be infinity
  const float y = (parts.expm1_r + 1.0f) * power_of_two(n) * (parts.n - n + 1.0f);
  const float inside = x <= 88.72283f ? y : std::numeric_limits<float>::infinity();
  return x >= -87.3f ? inside : (x < -87.3f ? 0.0f : x);
}

/// e^x - 1 for x <= 0, within 2 units; -1 at minus infinity.
SHOAL_ALWAYS_INLINE float vector_expm1_negative(float x) {
  const float bounded = x >= -20.0f ? x : -20.0f;
  const ExpParts parts = exp_parts(bounded);
  const float power = power_of_two(parts.n);
  const float y = power * parts.expm1_r + (power - 1.0f);
  return x == x ? y : x;
}

/// log(x), within 1 unit; minus infinity at 0 (denormals count as 0), NaN below. Range reduction and polynomial: Cephes,
/// logf.c (Moshier).
SHOAL_ALWAYS_INLINE float vector_log(float x) {
  constexpr int32_t kRootHalf = 0x3f3504f3;  // the bits of sqrt(1/2), where the mantissa's range begins
  const int32_t bits = std::bit_cast<int32_t>(x) - kRootHalf;
  const float e = float(bits >> 23);
  const float m = std::bit_cast<float>((bits & 0x7fffff) + kRootHalf) - 1.0f;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float z = m * m;
  const float y = (m + ((p * m * z - 2.12194440e-4f * e) - 0.5f * z)) + 0.693359375f * e;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float inside = x < kInfinity ? y : x;  // infinity and NaN are their own logarithms
  return x < std::numeric_limits<float>::min() ? (x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : -kInfinity) : inside;
}

/// log(1 + x) for x in [0, 1], within 2 units: twice the series of the inverse hyperbolic tangent at x / (2 + x), which is
/// at most 1/3 (Abramowitz, Stegun, 4.1.29).
SHOAL_ALWAYS_INLINE float vector_log1p_unit(float x) {
  const float s = x / (2.0f + x);
  const float z = s * s;
  float p = 1.0f / 15.0f;
  p = p * z + 1.0f / 13.0f;
  p = p * z + 1.0f / 11.0f;
  p = p * z + 1.0f / 9.0f;
  p = p * z + 1.0f / 7.0f;
  p = p * z + 1.0f / 5.0f;
  p = p * z + 1.0f / 3.0f;
  return 2.0f * (p * z * s + s);
}

/// 1 / (1 + e^-x), within 4 units; 0 below -88.72283.
SHOAL_ALWAYS_INLINE float vector_sigmoid(float x) { return 1.0f / (1.0f + vector_exp(-x)); }

/// Within 4 units: (1 - e^-2|x|) / (1 + e^-2|x|) without its cancellation.
SHOAL_ALWAYS_INLINE float vector_tanh(float x) {
  const float magnitude = x < 0.0f ? -x : x;
  const float t = vector_expm1_negative(-2.0f * magnitude);
  const float y = (0.0f - t) / (t + 2.0f);  // 0 for 0, not -0
  return x < 0.0f ? -y : y;
}

/// log(1 + e^x), within 4 units: max(x, 0) + log(1 + e^-|x|).
SHOAL_ALWAYS_INLINE float vector_softplus(float x) {
  const float magnitude = x < 0.0f ? -x : x;
  return (x > 0.0f ? x : 0.0f) + vector_log1p_unit(vector_exp(-magnitude));
}

/// 2 / sqrt(pi) times the integral of e^-t^2 from 0 to x, within 8 units. A rational approximation on [-4, 4], beyond which
/// it is 1: Eigen, MathFunctionsImpl.h (generic_fast_erf_float).
SHOAL_ALWAYS_INLINE float vector_erf(float x) {
  const float bounded = vector_clamp(x, -4.0f, 4.0f);
  const float z = bounded * bounded;
  float p = -2.72614225801306e-10f;
  p = p * z + 2.77068142495902e-08f;
  p = p * z - 2.10102402082508e-06f;
  p = p * z - 5.69250639462346e-05f;
  p = p * z - 7.34990630326855e-04f;
  p = p * z - 2.95459980854025e-03f;
  p = p * z - 1.60960333262415e-02f;
  float q = -1.45660718464996e-05f;
  q = q * z - 2.13374055278905e-04f;
  q = q * z - 1.68282697438203e-03f;
  q = q * z - 7.37332916720468e-03f;
  q = q * z - 1.42647390514189e-02f;
  const float inside = bounded * (p / q);  // bounded * p may be subnormal, which compute threads take for 0
  return x >= 4.0f ? 1.0f : (x <= -4.0f ? -1.0f : inside);
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
