// SPDX-License-Identifier: Apache-2.0
// Compiled with contraction on (CMakeLists.txt), as panels.cc is.
#include "small_batch.h"

#include "shoal/base/vector_loop.h"

namespace shoal::backends::onednn {
namespace {

using Half [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;
using Eight [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = float;
using Sixteen [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;

constexpr int64_t kOutputsMax = 4;

// Twelve sums, three vectors of x and one of w fill the sixteen registers of AVX2.
struct Narrow {
  using Vector = Eight;
  using Bits [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = int32_t;
  static constexpr Bits kCountdown = {7, 6, 5, 4, 3, 2, 1, 0};
  static constexpr int64_t kRowsMax = 3;
};
// 24 sums, six and one of the 32 of AVX-512.
struct Wide {
  using Vector = Sixteen;
  using Bits [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = int32_t;
  static constexpr Bits kCountdown = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  static constexpr int64_t kRowsMax = 6;
};

// What of the depth is summed at a time, and of how much of w while all of x passes: so much of w stays in the first-level
// cache.
constexpr int64_t kDepthBlock = 1024;
constexpr int64_t kTogetherBytes = 32 << 10;

SHOAL_ALWAYS_INLINE void fold(const Eight& vector, Eight& folded) { folded = vector; }
SHOAL_ALWAYS_INLINE void fold(const Sixteen& vector, Eight& folded) {
  folded = __builtin_shufflevector(vector, vector, 0, 1, 2, 3, 4, 5, 6, 7) +
           __builtin_shufflevector(vector, vector, 8, 9, 10, 11, 12, 13, 14, 15);
}

/// The four sums of the elements of each of four vectors.
template <class Vector>
SHOAL_ALWAYS_INLINE Half sums_of(const Vector& first, const Vector& second, const Vector& third, const Vector& fourth) {
  Eight a, b, c, d;
  fold(first, a), fold(second, b), fold(third, c), fold(fourth, d);
  const Eight ab =
      __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14) + __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  const Eight cd =
      __builtin_shufflevector(c, d, 0, 8, 2, 10, 4, 12, 6, 14) + __builtin_shufflevector(c, d, 1, 9, 3, 11, 5, 13, 7, 15);
  const Eight abcd = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
                     __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
  return __builtin_shufflevector(abcd, abcd, 0, 1, 2, 3) + __builtin_shufflevector(abcd, abcd, 4, 5, 6, 7);
}

struct Tile {
  const float *x, *w;
  int64_t stride;  ///< Distance between the rows of either.
  int64_t depth;
  const float* start;  ///< What the sums of each row are added to: the bias, y itself, or null.
  int64_t start_stride;
  float* y;
  int64_t y_stride;
  bool relu;
  const float* ahead;  ///< What is asked for meanwhile: as much of a row of w as is summed.
};

template <class Registers, int64_t kRows, int64_t kOutputs>
SHOAL_ALWAYS_INLINE void multiply_tile(const Tile& tile) {
  using Vector = typename Registers::Vector;
  using Bits = typename Registers::Bits;
  constexpr int64_t kLanes = sizeof(Vector) / sizeof(float);
  Vector sums[kOutputsMax][kRows] = {};
  const auto add = [&](const auto& vector) __attribute__((always_inline)) {
    Vector x[kRows];
#pragma GCC unroll 6
    for (int64_t row = 0; row < kRows; ++row) vector(tile.x + row * tile.stride, x[row]);
#pragma GCC unroll 4
    for (int64_t o = 0; o < kOutputs; ++o) {
      Vector w;
      vector(tile.w + o * tile.stride, w);
#pragma GCC unroll 6
      for (int64_t row = 0; row < kRows; ++row) sums[o][row] += w * x[row];
    }
  };
  int64_t k = 0;
  for (; k + kLanes <= tile.depth; k += kLanes) {
    __builtin_prefetch(tile.ahead + k);
    add([&](const float* from, Vector& to)
            __attribute__((always_inline)) { to = *reinterpret_cast<const Vector*>(from + k); });
  }
  if (k < tile.depth) {  // The row's last vector, less what was added before.
    const Bits rest = Registers::kCountdown < int32_t(tile.depth - k);
    add([&](const float* from, Vector& to) __attribute__((always_inline)) {
      const Bits bits = *reinterpret_cast<const Bits*>(from + tile.depth - kLanes) & rest;
      to = __builtin_bit_cast(Vector, bits);
    });
  }
#pragma GCC unroll 6
  for (int64_t row = 0; row < kRows; ++row) {
    const Half sum = sums_of(sums[0][row], sums[1][row], sums[2][row], sums[3][row]);
    float* const y = tile.y + row * tile.y_stride;
    const float* const start = tile.start ? tile.start + row * tile.start_stride : nullptr;
    if constexpr (kOutputs == kOutputsMax) {
      Half value = sum;
      if (start) value += *reinterpret_cast<const Half*>(start);
      if (tile.relu) value = value < 0.0f ? Half{} : value;  // NaN stays.
      *reinterpret_cast<Half*>(y) = value;
    } else {
      for (int64_t o = 0; o < kOutputs; ++o) {
        const float value = start ? start[o] + sum[o] : sum[o];
        y[o] = tile.relu && value < 0.0f ? 0.0f : value;
      }
    }
  }
}

template <class Registers, int64_t kOutputs>
SHOAL_ALWAYS_INLINE void multiply_rows(const Tile& tile, int64_t rows) {
  switch (rows) {
    case 1: return multiply_tile<Registers, 1, kOutputs>(tile);
    case 2: return multiply_tile<Registers, 2, kOutputs>(tile);
    case 3: return multiply_tile<Registers, 3, kOutputs>(tile);
    default:
      if constexpr (Registers::kRowsMax > 3) {
        switch (rows) {
          case 4: return multiply_tile<Registers, 4, kOutputs>(tile);
          case 5: return multiply_tile<Registers, 5, kOutputs>(tile);
          default: return multiply_tile<Registers, 6, kOutputs>(tile);
        }
      }
  }
}

/// Multiplies the depth [k, k + depth) alone, and adds to what y holds from the depths before.
template <class Registers>
SHOAL_ALWAYS_INLINE void multiply_block(const SmallBatch& product, int64_t k, int64_t depth, int64_t first, int64_t last) {
  const bool begins = k == 0, ends = k + depth == product.in;
  // Tiles of the first rows ask for the weights that are next, of which each has as many outputs to read.
  int64_t next = last;
  for (int64_t row = 0, rows = 0; row < product.rows; row += rows, ++next) {
    const int64_t tiles = (product.rows - row + Registers::kRowsMax - 1) / Registers::kRowsMax;
    rows = (product.rows - row + tiles - 1) / tiles;  // As equal as can be.
    for (int64_t o = first; o < last; o += kOutputsMax) {
      const float* const bias = product.bias ? product.bias + o : nullptr;
      const Tile tile{.x = product.x + row * product.in + k,
                      .w = product.w + o * product.in + k,
                      .stride = product.in,
                      .depth = depth,
                      .start = begins ? bias : product.y + row * product.out + o,
                      .start_stride = begins ? 0 : product.out,
                      .y = product.y + row * product.out + o,
                      .y_stride = product.out,
                      .relu = product.relu && ends,
                      .ahead = product.w + (next + o - first < product.out ? next + o - first : o) * product.in + k};
      switch (last - o) {
        case 1: multiply_rows<Registers, 1>(tile, rows); break;
        case 2: multiply_rows<Registers, 2>(tile, rows); break;
        case 3: multiply_rows<Registers, 3>(tile, rows); break;
        default: multiply_rows<Registers, 4>(tile, rows); break;
      }
    }
  }
}

template <class Registers>
SHOAL_ALWAYS_INLINE void multiply(const SmallBatch& product, int64_t first, int64_t last) {
  // Blocks as equal as can be, of whole vectors.
  constexpr int64_t kLanes = sizeof(typename Registers::Vector) / sizeof(float);
  const int64_t blocks = (product.in + kDepthBlock - 1) / kDepthBlock;
  const int64_t depth = (product.in + blocks * kLanes - 1) / (blocks * kLanes) * kLanes;
  const int64_t groups = kTogetherBytes / (depth * kOutputsMax * int64_t(sizeof(float)));
  const int64_t together = (groups < 1 ? 1 : groups) * kOutputsMax;
  for (int64_t k = 0; k < product.in; k += depth) {
    for (int64_t o = first; o < last; o += together) {
      multiply_block<Registers>(product, k, depth < product.in - k ? depth : product.in - k, o,
                                o + together < last ? o + together : last);
    }
  }
}

SHOAL_VECTOR_LOOP void multiply_narrow(const SmallBatch& product, int64_t first, int64_t last) {
  multiply<Narrow>(product, first, last);
}
SHOAL_WIDE_LOOP void multiply_wide(const SmallBatch& product, int64_t first, int64_t last) {
  multiply<Wide>(product, first, last);
}

}  // namespace

void small_batch_dense(const SmallBatch& product, int64_t first, int64_t last) {
  const bool wide = product.wide && product.in >= 16;
  wide ? multiply_wide(product, first, last) : multiply_narrow(product, first, last);
}

}  // namespace shoal::backends::onednn
