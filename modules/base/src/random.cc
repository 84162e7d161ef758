// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/random.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "philox.h"
#include "shoal/base/error.h"
#include "shoal/base/vector_loop.h"

namespace shoal {
namespace {

using random_detail::kMultiplier0;
using random_detail::kMultiplier1;
using random_detail::kWeyl0;
using random_detail::kWeyl1;

// The upper halves of the counters with which fold_in() derives a new key from a key. No draw of random numbers uses these
// counters, so a derived key is independent of the numbers drawn with the old key.
constexpr uint64_t kFoldNumber = 0x666f6c642f6e756d;  // ASCII "fold/num".
constexpr uint64_t kFoldName = 0x666f6c642f737472;    // ASCII "fold/str".

RandomKey fold(RandomKey key, uint64_t part, uint64_t purpose) {
  const auto words = philox(key, part, purpose);
  return words[0] | uint64_t(words[1]) << 32;
}

/// The upper 64 bits of a * b, also on armhf, which has no 128-bit integers.
uint64_t multiply_high(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ using Wide = unsigned __int128;
  return uint64_t((Wide(a) * b) >> 64);
#else
  const uint64_t a0 = uint32_t(a), a1 = a >> 32, b0 = uint32_t(b), b1 = b >> 32;
  const uint64_t middle = a1 * b0 + ((a0 * b0) >> 32);
  const uint64_t other = a0 * b1 + uint32_t(middle);
  return a1 * b1 + (middle >> 32) + (other >> 32);
#endif
}

constexpr size_t kLanes = 16;  // Blocks computed side by side: one 512-bit vector for each word of the counter.

/// Computes kLanes blocks from `first_block` on, as 4 * kLanes words.
SHOAL_ALWAYS_INLINE void make_lanes(RandomKey key, uint64_t first_block, uint64_t counter_high, uint32_t* out) {
  uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (size_t lane = 0; lane < kLanes; ++lane) {
    c0[lane] = uint32_t(first_block + lane);
    c1[lane] = uint32_t((first_block + lane) >> 32);
    c2[lane] = uint32_t(counter_high);
    c3[lane] = uint32_t(counter_high >> 32);
  }
  uint32_t key0 = uint32_t(key), key1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const uint64_t product0 = uint64_t(kMultiplier0) * c0[lane];
      const uint64_t product1 = uint64_t(kMultiplier1) * c2[lane];
      c0[lane] = uint32_t(product1 >> 32) ^ c1[lane] ^ key0;
      c1[lane] = uint32_t(product1);
      c2[lane] = uint32_t(product0 >> 32) ^ c3[lane] ^ key1;
      c3[lane] = uint32_t(product0);
    }
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    out[4 * lane] = c0[lane];
    out[4 * lane + 1] = c1[lane];
    out[4 * lane + 2] = c2[lane];
    out[4 * lane + 3] = c3[lane];
  }
}

SHOAL_VECTOR_LOOP void make_many(RandomKey key, uint64_t first_block, uint64_t counter_high, uint32_t* out, size_t groups) {
  for (size_t group = 0; group < groups; ++group) {
    make_lanes(key, first_block + group * kLanes, counter_high, out + group * 4 * kLanes);
  }
}

}  // namespace

std::array<uint32_t, 4> philox(RandomKey key, uint64_t counter_low, uint64_t counter_high) {
  return random_detail::philox_block(key, counter_low, counter_high);
}

void fill_bits(RandomKey key, uint64_t first_block, uint64_t counter_high, std::span<uint32_t> out) {
  const size_t groups = out.size() / (4 * kLanes);
  make_many(key, first_block, counter_high, out.data(), groups);
  size_t done = groups * 4 * kLanes;
  for (uint64_t block = first_block + groups * kLanes; done < out.size(); ++block) {
    const auto words = philox(key, block, counter_high);
    const size_t count = std::min<size_t>(4, out.size() - done);
    std::copy_n(words.begin(), count, out.begin() + ptrdiff_t(done));
    done += count;
  }
}

RandomKey fold_in(RandomKey key, uint64_t part) { return fold(key, part, kFoldNumber); }
RandomKey fold_in(RandomKey key, std::string_view name) { return fold(key, hash64(name), kFoldName); }
uint64_t hash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }
uint64_t hash64(std::string_view bytes, uint64_t seed) { return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed); }

uint32_t RandomStream::next_u32() {
  const uint64_t block = position_ / 4;
  if (block != cached_block_) {
    block_ = philox(key_, block);
    cached_block_ = block;
  }
  return block_[position_++ % 4];
}

uint64_t RandomStream::next_u64() {
  const uint64_t low = next_u32();
  return low | uint64_t(next_u32()) << 32;
}

uint64_t RandomStream::below(uint64_t bound) {
  if (bound < 1) raise(invalid_argument("RandomStream::below: no number is below 0; the bound has to be at least 1"));
  if (bound <= UINT32_MAX) {
    uint64_t product = next_u32() * bound;
    if (uint32_t(product) < bound) {
      const uint32_t unfair = uint32_t(-uint32_t(bound)) % uint32_t(bound);  // 2^32 mod bound.
      while (uint32_t(product) < unfair) product = next_u32() * bound;
    }
    return product >> 32;
  }
  uint64_t drawn = next_u64();
  if (drawn * bound < bound) {
    const uint64_t unfair = (0 - bound) % bound;  // 2^64 mod bound.
    while (drawn * bound < unfair) drawn = next_u64();
  }
  return multiply_high(drawn, bound);
}

float RandomStream::next_float() { return float(next_u32() >> 8) * 0x1p-24f; }

}  // namespace shoal
