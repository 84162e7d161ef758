// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Arithmetic that several loops of this folder use (see base/vector_loop.h).
#include <bit>
#include <cstdint>
#include <limits>

#include "shoal/base/vector_loop.h"

namespace shoal::backends::portable {

// Functions of one number, written so that compilers vectorise loops over them: no branches, no calls. All keep NaN. Errors
// are given in units in the last place (tests/portable/vector_test.cc measures them).

/// The larger or the smaller of two numbers; NaN if either is NaN.
SHOAL_ALWAYS_INLINE float larger(float a, float b) { return (a > b) | (a != a) ? a : b; }
SHOAL_ALWAYS_INLINE float smaller(float a, float b) { return (a < b) | (a != a) ? a : b; }

/// Clamps x to two bounds; NaN stays NaN.
SHOAL_ALWAYS_INLINE float vector_clamp(float x, float low, float high) { return x < low ? low : (x > high ? high : x); }

/// n and e^r - 1 for x = n log(2) + r, where |r| <= log(2) / 2. exp_parts() computes both; its range reduction and its
/// polynomial are those of Cephes, expf.c (Moshier).
struct ExpParts {
  float n;
  float expm1_r;
};
SHOAL_ALWAYS_INLINE ExpParts exp_parts(float x) {
  const float magic = 12582912.0f;  // Adding and subtracting 1.5 * 2^23 rounds to an integer.
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

/// e^x for x from -87.3 to 88.72283, with an error of at most 2 units in the last place. Below that range 0, since the
/// result would be denormal; above it infinity.
SHOAL_ALWAYS_INLINE float vector_exp(float x) {
  // NaN is replaced as well, since its conversion to an integer is undefined.
  const float bounded = x >= -87.3f ? (x <= 88.72283f ? x : 88.72283f) : -87.3f;
  const ExpParts parts = exp_parts(bounded);
  const float n = parts.n <= 127.0f ? parts.n : 127.0f;  // 2^128 would be infinity.
  const float y = (parts.expm1_r + 1.0f) * power_of_two(n) * (parts.n - n + 1.0f);
  const float inside = x <= 88.72283f ? y : std::numeric_limits<float>::infinity();
  return x >= -87.3f ? inside : (x < -87.3f ? 0.0f : x);
}

/// e^x - 1 for x <= 0, with an error of at most 2 units in the last place; -1 at minus infinity.
SHOAL_ALWAYS_INLINE float vector_expm1_negative(float x) {
  const float bounded = x >= -20.0f ? x : -20.0f;
  const ExpParts parts = exp_parts(bounded);
  const float power = power_of_two(parts.n);
  const float y = power * parts.expm1_r + (power - 1.0f);
  return x == x ? y : x;
}

/// log(x), with an error of at most 1 unit in the last place. Minus infinity for 0 and for positive denormals, NaN for
/// negative x. Range reduction and polynomial: Cephes, logf.c (Moshier).
SHOAL_ALWAYS_INLINE float vector_log(float x) {
  constexpr int32_t kRootHalf = 0x3f3504f3;  // The bits of sqrt(1/2), where the mantissa's range begins.
  // For x <= -0 the subtraction wraps around, and the last line of the function replaces the result.
  const auto bits = int32_t(std::bit_cast<uint32_t>(x) - uint32_t(kRootHalf));
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
  const float inside = x < kInfinity ? y : x;  // Infinity and NaN are their own logarithms.
  return x < std::numeric_limits<float>::min() ? (x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : -kInfinity) : inside;
}

/// log(1 + x) for x in [0, 1], with an error of at most 2 units in the last place. It is twice the series of the inverse
/// hyperbolic tangent at x / (2 + x), which is at most 1/3 (Abramowitz, Stegun, 4.1.29).
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

/// log|x| in double precision, to 12 digits; minus infinity at 0 (denormals count as 0). x must not be NaN. Computed as
/// twice the series of the inverse hyperbolic tangent at (m - 1) / (m + 1), where m is the mantissa (Abramowitz, Stegun,
/// 4.1.27).
SHOAL_ALWAYS_INLINE double vector_log_wide(float x) {
  constexpr int32_t kRootHalf = 0x3f3504f3;
  const float magnitude = x < 0.0f ? -x : x;
  const auto bits = int32_t(std::bit_cast<uint32_t>(magnitude) - uint32_t(kRootHalf));  // Wraps around for -0.
  const auto m = double(std::bit_cast<float>((bits & 0x7fffff) + kRootHalf));
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  const double y = 2.0 * (p * z * s + s) + double(bits >> 23) * 0.69314718055994531;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double inside = magnitude < std::numeric_limits<float>::infinity() ? y : kInfinity;
  return magnitude < std::numeric_limits<float>::min() ? -kInfinity : inside;
}

/// e^x for x in [-200, 200], to 9 digits, which suffices for a float; the range exceeds that of floats on both sides.
SHOAL_ALWAYS_INLINE double vector_exp_wide(double x) {
  const auto n = int32_t(x * 1.4426950408889634 + (x < 0.0 ? -0.5 : 0.5));
  const double r = x - double(n) * 0.69314718055994531;
  double p = 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * (r * r) + r + 1.0;
  return p * std::bit_cast<double>(int64_t(n + 1023) << 52);
}

/// a^b before it is rounded to a float, with C's rules for pow() of zeros, infinities, NaN and negative a. b beyond 2^30
/// counts as even. Results far too large or small for a float are infinity or 0.
SHOAL_ALWAYS_INLINE double vector_pow_wide(float a, double b) {
  const double bounded = b < 1073741824.0 ? (b > -1073741824.0 ? b : -1073741824.0) : 1073741824.0;
  const auto whole = int32_t(bounded);
  const bool is_odd = (whole & 1) != 0, is_whole = double(whole) == bounded;
  const bool is_one = (a == 1.0f) | (a == -1.0f);
  const double product = b * vector_log_wide(a);
  const double exponent = (b == 0.0) | is_one ? 0.0 : product;
  const double inside = exponent < 200.0 ? (exponent > -200.0 ? exponent : -200.0) : 200.0;
  const double within = vector_exp_wide(inside);
  const double at_most = exponent < 200.0 ? within : std::numeric_limits<double>::infinity();
  const double magnitude = exponent > -200.0 ? at_most : 0.0;
  const bool is_negative = std::bit_cast<int32_t>(a) < 0;  // True for -0 too.
  const double y = is_negative & is_whole & is_odd ? -magnitude : magnitude;
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const double real = (a < 0.0f) & !is_whole & (a != -std::numeric_limits<float>::infinity()) ? kNaN : y;
  const double kept = (a != a) | (b != b) ? kNaN : real;
  return (b == 0.0) | (a == 1.0f) ? 1.0 : kept;
}

/// a^b, with an error of at most 1 unit in the last place.
SHOAL_ALWAYS_INLINE float vector_pow(float a, float b) { return float(vector_pow_wide(a, double(b))); }

/// 1 / (1 + e^-x), with an error of at most 4 units in the last place; 0 below -88.72283.
SHOAL_ALWAYS_INLINE float vector_sigmoid(float x) { return 1.0f / (1.0f + vector_exp(-x)); }

/// tanh(x), with an error of at most 4 units in the last place: (1 - e^-2|x|) / (1 + e^-2|x|), computed without
/// cancellation.
SHOAL_ALWAYS_INLINE float vector_tanh(float x) {
  const float magnitude = x < 0.0f ? -x : x;
  const float t = vector_expm1_negative(-2.0f * magnitude);
  const float y = (0.0f - t) / (t + 2.0f);  // Gives 0 for 0, not -0.
  return x < 0.0f ? -y : y;
}

/// log(1 + e^x), with an error of at most 4 units in the last place: max(x, 0) + log(1 + e^-|x|).
SHOAL_ALWAYS_INLINE float vector_softplus(float x) {
  const float magnitude = x < 0.0f ? -x : x;
  return (x > 0.0f ? x : 0.0f) + vector_log1p_unit(vector_exp(-magnitude));
}

/// The error function, 2 / sqrt(pi) times the integral of e^-t^2 from 0 to x, with an error of at most 8 units in the last
/// place. A rational approximation for x in [-4, 4]; for other x the result is 1 or -1. Source: Eigen, MathFunctionsImpl.h
/// (generic_fast_erf_float).
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
  // Computes p / q first. The product bounded * p may be subnormal, and threads may compute with 0 in place of subnormals.
  const float inside = bounded * (p / q);
  return x >= 4.0f ? 1.0f : (x <= -4.0f ? -1.0f : inside);
}

/// Returns term(0) + ... + term(count - 1) in a fixed order: sums up in `kLanes` lanes, and then adds the lanes pairwise.
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

}  // namespace shoal::backends::portable
