// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Transposes of small squares of floats, of which larger transposes consist. Element by element, both the reads and the
/// writes would be single floats.
#include <algorithm>
#include <cstdint>

#include "shoal/base/vector_loop.h"

namespace shoal::backends::portable {

inline constexpr int64_t kSquare = 4;

/// Reads kSquare rows of kSquare floats, which are `stride` floats apart, and writes column i of them, times `factor`, to
/// the kSquare floats at to(i).
template <class To>
SHOAL_ALWAYS_INLINE void transpose_square(const float* from, int64_t stride, float factor, const To& to) {
  using Four [[gnu::vector_size(kSquare * sizeof(float)), gnu::aligned(4), gnu::may_alias]] = float;
  const auto row = [&](int64_t i) __attribute__((always_inline)) {
    return *reinterpret_cast<const Four*>(from + i * stride) * factor;
  };
  const auto put = [&](int64_t i, Four values) __attribute__((always_inline)) { *reinterpret_cast<Four*>(to(i)) = values; };
  const Four a = row(0), b = row(1), c = row(2), d = row(3);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  put(0, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
  put(1, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
  put(2, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
  put(3, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

/// Reads `rows` rows of `columns` floats, which are `stride` floats apart. Writes element i of row r, times `factor`, to
/// to(i)[r]. The range that is written overlaps nothing that is read. If a size is no multiple of kSquare, some elements are
/// written twice.
template <class To>
SHOAL_ALWAYS_INLINE void transpose(const float* from, int64_t stride, int64_t rows, int64_t columns, float factor,
                                   const To& to) {
  if (rows < kSquare || columns < kSquare) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < columns; ++i) to(i)[r] = from[r * stride + i] * factor;
    }
    return;
  }
  for (int64_t i = 0; i < columns; i += kSquare) {
    const int64_t first = std::min(i, columns - kSquare);
    for (int64_t r = 0; r < rows; r += kSquare) {
      const int64_t row = std::min(r, rows - kSquare);
      transpose_square(
          from + row * stride + first, stride,
          factor, [&](int64_t k) __attribute__((always_inline)) { return to(first + k) + row; });
    }
  }
}

}  // namespace shoal::backends::portable
