// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/finite.h"

namespace shoal {
namespace {

SHOAL_VECTOR_LOOP int32_t largest_magnitude(const float* values, int64_t count) {
  int32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t bits = magnitude_bits(values[i]);
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

}  // namespace

bool all_finite(std::span<const float> values) {
  return largest_magnitude(values.data(), int64_t(values.size())) < kInfinityBits;
}

}  // namespace shoal
