// SPDX-License-Identifier: Apache-2.0
// Uniform and normal numbers by float arithmetic written here: the C library's logf and cosf differ between versions, and
// an initializer must give equal bits on every machine of a cluster.
#include <algorithm>
#include <bit>
#include <cmath>

#include "philox.h"
#include "shoal/base/random.h"
#include "shoal/base/vector_loop.h"

namespace shoal {
namespace {

constexpr size_t kChunk = 1024;  // The count of numbers made at a time, on the stack.

/// ln(u) for a normal float u in (0, 1]. Source: Cephes, logf (S. Moshier), relative error below 1e-7.
SHOAL_ALWAYS_INLINE float natural_log(float u) {
  // Splits u into m * 2^e with m in [sqrt(1/2), sqrt(2)), by its bits. x is m - 1.
  const int32_t bits = std::bit_cast<int32_t>(u) - 0x3f3504f3;
  const int32_t exponent = bits >> 23;
  const float x = std::bit_cast<float>((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
  const float e = float(exponent);
  const float z = x * x;
  float y = 7.0376836292e-2f;
  y = y * x + -1.1514610310e-1f;
  y = y * x + 1.1676998740e-1f;
  y = y * x + -1.2420140846e-1f;
  y = y * x + 1.4249322787e-1f;
  y = y * x + -1.6668057665e-1f;
  y = y * x + 2.0000714765e-1f;
  y = y * x + -2.4999993993e-1f;
  y = y * x + 3.3333331174e-1f;
  y = y * x * z;
  y = y + e * -2.12194440e-4f;
  y = y - 0.5f * z;
  return (x + y) + e * 0.693359375f;
}

struct Pair {
  float first, second;
};

/// Two independent standard normals. The angle is 2 pi angle_bits / 2^32; its quadrant and remainder are exact. The
/// polynomials are those of Cephes.
SHOAL_ALWAYS_INLINE Pair box_muller(uint32_t radius_bits, uint32_t angle_bits) {
  const float u = (float(int32_t(radius_bits >> 1)) + 1.0f) * 0x1p-31f;  // In (0, 1].
  const float radius = std::sqrt(-2.0f * natural_log(u));
  const uint32_t quadrant = (angle_bits + (1u << 29)) >> 30;  // The nearest quarter turn, 0 to 3; the sum wraps around.
  const float x = float(int32_t(angle_bits - (quadrant << 30))) * float(6.283185307179586476925 / 4294967296.0);
  const float z = x * x;
  const float sine = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * x + x;
  const float cosine =
      ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1.0f;
  const bool odd = (quadrant & 1) != 0;
  const float a = odd ? sine : cosine, b = odd ? cosine : sine;
  const float cosine_sign = ((quadrant + 1) & 2) != 0 ? -1.0f : 1.0f;
  const float sine_sign = (quadrant & 2) != 0 ? -1.0f : 1.0f;
  return {radius * (a * cosine_sign), radius * (b * sine_sign)};
}

SHOAL_VECTOR_LOOP void to_uniform(const uint32_t* bits, float* out, size_t count, float low, float range) {
  for (size_t i = 0; i < count; ++i) out[i] = low + range * (float(int32_t(bits[i] >> 8)) * 0x1p-24f);
}

SHOAL_VECTOR_LOOP void to_standard_normal(const uint32_t* bits, float* out, size_t count) {
  for (size_t i = 0; i < count; i += 2) {
    const Pair pair = box_muller(bits[i], bits[i + 1]);
    out[i] = pair.first;
    out[i + 1] = pair.second;
  }
}

SHOAL_VECTOR_LOOP void scale(float* values, size_t count, float mean, float stddev) {
  for (size_t i = 0; i < count; ++i) values[i] = mean + stddev * values[i];
}

/// Fills `out` with a part of a random sequence of floats, which begins at its number `first`. make(bits, values, count)
/// turns `count` random 32-bit words into floats. Since words are made in blocks of four, it may make a few floats too
/// many, in front of and behind those for `out`; these are dropped.
template <class Make>
void fill(RandomKey key, uint64_t first, std::span<float> out, Make make) {
  alignas(64) uint32_t bits[kChunk];
  alignas(64) float values[kChunk];
  while (!out.empty()) {
    const size_t skip = size_t(first % 4);
    const size_t count = std::min(kChunk - skip, out.size());
    const size_t made = (skip + count + 3) / 4 * 4;
    fill_bits(key, first / 4, 0, {bits, made});
    make(bits, values, made);
    std::copy_n(values + skip, count, out.begin());
    first += count;
    out = out.subspan(count);
  }
}

/// Draws number `index` of a sequence of standard normals again. `redraw` is 1 at the first repetition, then 2, ...
float redrawn_normal(RandomKey key, uint64_t index, uint64_t redraw) {
  const auto block = random_detail::philox_block(key, index / 4, redraw);
  const size_t lane = size_t(index % 4) & ~size_t(1);
  const Pair pair = box_muller(block[lane], block[lane + 1]);
  return index % 2 == 0 ? pair.first : pair.second;
}

}  // namespace

void fill_uniform(RandomKey key, uint64_t first, std::span<float> out, float low, float high) {
  fill(key, first, out, [low, high](const uint32_t* bits, float* values, size_t count) {
    to_uniform(bits, values, count, low, high - low);
  });
}

void fill_normal(RandomKey key, uint64_t first, std::span<float> out, float mean, float stddev) {
  fill(key, first, out, to_standard_normal);
  scale(out.data(), out.size(), mean, stddev);
}

void fill_truncated_normal(RandomKey key, uint64_t first, std::span<float> out, float mean, float stddev) {
  fill(key, first, out, to_standard_normal);
  for (size_t i = 0; i < out.size(); ++i) {
    for (uint64_t redraw = 1; std::abs(out[i]) > 2.0f; ++redraw) out[i] = redrawn_normal(key, first + i, redraw);
  }
  scale(out.data(), out.size(), mean, stddev);
}

}  // namespace shoal
