// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Counter-based random numbers: Philox4x32-10. A number is a pure function of (key, counter), so any part of a sequence
/// can be computed anywhere, in any order, on any number of threads.
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace shoal {

/// The 64-bit key of one sequence.
using RandomKey = uint64_t;

/// Makes a key that depends on `key` and `part`: fold_in(fold_in(seed, trainer), op). Not a cryptographic hash.
RandomKey fold_in(RandomKey key, uint64_t part);
/// Makes a key that depends on `key` and the part's name (by its 64-bit XXH3, which is equal on every platform).
RandomKey fold_in(RandomKey key, std::string_view name);

/// 64-bit XXH3 of `bytes` (specification of xxhash 0.8, seed 0): equal on every platform and in every run.
uint64_t hash64(std::string_view bytes);
/// 64-bit XXH3 of `bytes` with the seed `seed`.
uint64_t hash64(std::string_view bytes, uint64_t seed);

/// Four 32-bit numbers for one counter value.
std::array<uint32_t, 4> philox(RandomKey key, uint64_t counter_low, uint64_t counter_high = 0);

/// Makes many numbers at once: out[4 * i + j] = philox(key, first_block + i, counter_high)[j]. `out` may end inside a
/// block. The speed is some GB/s.
void fill_bits(RandomKey key, uint64_t first_block, uint64_t counter_high, std::span<uint32_t> out);

/// Reads one sequence number by number, for shuffles and data. It is a value type: copy it to remember a position.
class RandomStream {
 public:
  explicit RandomStream(RandomKey key, uint64_t position = 0) : key_(key), position_(position) {}
  uint32_t next_u32();
  uint64_t next_u64();
  /// Uniform in [0, bound), unbiased (Lemire 2019). Raises InvalidArgument for the bound 0.
  uint64_t below(uint64_t bound);
  /// Uniform in [0, 1), in steps of 2^-24.
  float next_float();
  RandomKey key() const { return key_; }
  /// The count of 32-bit numbers drawn so far; key() and position() together restore the stream.
  uint64_t position() const { return position_; }

 private:
  RandomKey key_;
  uint64_t position_;
  uint64_t cached_block_ = ~uint64_t(0);
  std::array<uint32_t, 4> block_{};
};

// The functions below set out[i] to number first + i of the sequence `key`, so parts of a variable can be filled
// separately. Their arithmetic uses no function of the C library, so the bits are equal on every platform.

/// Uniform in [low, high): low + (high - low) * u with a u of 24 bits. In wide ranges rounding may give `high` itself.
void fill_uniform(RandomKey key, uint64_t first, std::span<float> out, float low, float high);
/// Normal, by Box-Muller: numbers 2j and 2j + 1 are made from the 32-bit numbers 2j and 2j + 1. At most 6.6 stddev from the
/// mean.
void fill_normal(RandomKey key, uint64_t first, std::span<float> out, float mean, float stddev);
/// Normal, redrawn until it is within two standard deviations (the n-th redraw of a number has counter_high = n).
void fill_truncated_normal(RandomKey key, uint64_t first, std::span<float> out, float mean, float stddev);

}  // namespace shoal
