// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Vectors for the instruction set of the including file, and a * b + c with a single rounding. The bits are those of IEEE
/// 754's fusedMultiplyAdd everywhere (docs/arithmetic.md). Everything is in an anonymous namespace: otherwise the linker
/// would keep one copy of a function for all files, and an older processor would fail at instructions that it lacks.
#include <cstdint>
#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "shoal/base/vector_loop.h"

namespace shoal::backends::portable {
namespace {

#if defined(__AVX512F__)
constexpr int64_t kLanes = 16;
#elif defined(__FMA__)
constexpr int64_t kLanes = 8;
#else
constexpr int64_t kLanes = 4;
#endif
/// True if a single instruction computes a * b + c for all numbers of a register. Without such an instruction, larger tiles
/// would make the code larger, but not faster.
#if defined(__FMA__) || defined(__aarch64__)
constexpr bool kFusedInOne = true;
#else
constexpr bool kFusedInOne = false;
#endif
/// A vector with as many floats as a register. It may lie anywhere in memory.
using Vector [[gnu::vector_size(kLanes * 4), gnu::aligned(4), gnu::may_alias]] = float;
/// Vectors of eight and of four floats. The compiler divides them among smaller registers if necessary.
using Eight [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = float;
using Quarter [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;

#if defined(__FMA__) || defined(__aarch64__)
SHOAL_ALWAYS_INLINE Vector fused(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return vfmaq_f32(c, a, b);
#endif
}
SHOAL_ALWAYS_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#elif defined(__riscv_flen)
SHOAL_ALWAYS_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SHOAL_ALWAYS_INLINE Vector fused(Vector a, Vector b, Vector c) {
  Vector sums;
#pragma GCC unroll 4
  for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
  return sums;
}
#else
using Wides [[gnu::vector_size(kLanes * 8)]] = double;
using WideBits [[gnu::vector_size(kLanes * 8)]] = int64_t;

/// Computes a * b + c with a single rounding, without an instruction for it. A product of floats is exact in double. Its
/// sum with c is rounded to odd, after which rounding to float gives the same as a single rounding (Boldo, Melquiond:
/// Emulation of FMA and correctly rounded sums, 2008). The error of the sum is computed by Knuth's TwoSum. If the sum is
/// NaN or infinite, the error is NaN, and the sum stays as it is. The function is not inlined, because the unrolled loops
/// would then take half a megabyte.
[[gnu::noinline]] Vector fused(Vector a, Vector b, Vector c) {
  const Wides product = __builtin_convertvector(a, Wides) * __builtin_convertvector(b, Wides);
  const Wides addend = __builtin_convertvector(c, Wides), sum = product + addend;
  const Wides added = sum - product, error = (product - (sum - added)) + (addend - added);
  const WideBits bits = __builtin_bit_cast(WideBits, sum);
  const WideBits inexact = (error > 0.0) | (error < 0.0), even = (bits & 1) - 1;
  const WideBits away =
      ((__builtin_bit_cast(WideBits, error) ^ bits) >> 63) | 1;  // 1 if |sum| was rounded down, else -1.
  const WideBits odd = bits + (inexact & even & away);
  return __builtin_convertvector(__builtin_bit_cast(Wides, odd), Vector);
}
SHOAL_ALWAYS_INLINE float fused(float a, float b, float c) {
  const double product = double(a) * double(b), addend = double(c), sum = product + addend;
  const double added = sum - product, error = (product - (sum - added)) + (addend - added);
  int64_t bits = __builtin_bit_cast(int64_t, sum);
  if ((error > 0.0 || error < 0.0) && (bits & 1) == 0) bits += (__builtin_bit_cast(int64_t, error) ^ bits) < 0 ? -1 : 1;
  return float(__builtin_bit_cast(double, bits));
}
#endif

SHOAL_ALWAYS_INLINE Vector load(const float* from) { return *reinterpret_cast<const Vector*>(from); }
SHOAL_ALWAYS_INLINE void store(float* to, Vector value) { *reinterpret_cast<Vector*>(to) = value; }
/// Returns a vector whose elements are all `value`. Subtracting zero keeps the sign of a zero; adding zero would not.
SHOAL_ALWAYS_INLINE Vector spread(float value) { return value - Vector{}; }

/// Adds the upper eight of sixteen floats to the lower eight.
SHOAL_ALWAYS_INLINE void fold(const float* lanes, Eight& folded) {
  folded = *reinterpret_cast<const Eight*>(lanes) + *reinterpret_cast<const Eight*>(lanes + 8);
}

template <int64_t kValue>
struct Known {
  static constexpr int64_t value = kValue;
};
/// Calls body(Known<0>()), ..., body(Known<kCount - 1>()). This unrolls a loop before the compiler decides which arrays it
/// keeps in registers. (g++ 12 unrolls loops later than that, and then stores all sums at each step.)
template <int64_t kCount, int64_t kFirst = 0, class Body>
SHOAL_ALWAYS_INLINE void unrolled(const Body& body) {
  if constexpr (kFirst < kCount) {
    body(Known<kFirst>());
    unrolled<kCount, kFirst + 1>(body);
  }
}
/// Calls body(Known<n>()) with n = count, which is at least 1, or n = kMax for larger counts, so that the compiler knows
/// the number.
template <int64_t kMax, class Body>
SHOAL_ALWAYS_INLINE void with_count(int64_t count, const Body& body) {
  if constexpr (kMax > 1) {
    if (count < kMax) return with_count<kMax - 1>(count, body);
  }
  body(Known<kMax>());
}

}  // namespace
}  // namespace shoal::backends::portable
