#pragma once
/// For loops of our own: one source, compiled for several instruction sets, chosen when the program starts. With
/// contraction off (shoal_flags) and reductions in a written order, all of them compute the same bits.
#include <bit>
#include <cstdint>
#include <limits>

// Leaf functions with plain pointers only. Needs ifunc, hence glibc. clang 14 spells the levels differently.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define SHOAL_VECTOR_LOOP __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SHOAL_VECTOR_LOOP
#endif

// Before a loop whose elements do not depend on each other, also where an output lies exactly over an input: without it
// compilers take their scalar path for that case.
#if defined(__clang__)
#define SHOAL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define SHOAL_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace shoal::backends::onednn {

/// e^x within 2 units in the last place, between -87.3 and 88; 0 below (where it would be denormal), infinity above; NaN
/// stays NaN.
/// Written so that compilers vectorise it. Range reduction and polynomial: Cephes, expf.c (Moshier).
inline float vector_exp(float x) {
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

}  // namespace shoal::backends::onednn
