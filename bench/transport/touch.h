// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Work on payloads: reading that is not optimised away, and what a server does.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace shoal::bench {

/// Whoever makes `value` has to make it.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

/// The sum of its words: every cache line is looked at, at memory speed.
inline uint64_t read_all(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    sum += word;
  }
  return sum;
}

/// to = a + b.
inline void add_floats(const float* a, const float* b, float* __restrict to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}

}  // namespace shoal::bench
