// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Computes one Philox4x32-10 block, inline.
#include <array>
#include <cstdint>

namespace shoal::random_detail {

inline constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
// 2^32 times the fractional parts of the golden ratio and of sqrt(3).
inline constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

inline std::array<uint32_t, 4> philox_block(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  uint32_t c0 = uint32_t(counter_low), c1 = uint32_t(counter_low >> 32);
  uint32_t c2 = uint32_t(counter_high), c3 = uint32_t(counter_high >> 32);
  uint32_t key0 = uint32_t(key), key1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t(kMultiplier0) * c0;
    const uint64_t product1 = uint64_t(kMultiplier1) * c2;
    c0 = uint32_t(product1 >> 32) ^ c1 ^ key0;
    c1 = uint32_t(product1);
    c2 = uint32_t(product0 >> 32) ^ c3 ^ key1;
    c3 = uint32_t(product0);
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return {c0, c1, c2, c3};
}

}  // namespace shoal::random_detail
