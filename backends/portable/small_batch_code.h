// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The loops of small_batch.h. The file that includes this header determines the instruction set.
#include "fused.h"
#include "small_batch.h"

namespace shoal::backends::portable {
namespace {

constexpr int64_t kOutputsMax = 4, kStep = 16;  // The most outputs of a tile; the number of partial sums (lanes) of a sum.
// The most rows of x in a tile: as many as the vector registers allow. With AVX2, 3 rows need 12 registers for sums, 3 for
// vectors of x and 1 for w, which are all 16. With AVX-512, 6 rows need 24 + 6 + 1 = 31 of 32.
constexpr int64_t kSmallRowsMax = kLanes == 16 ? 6 : kFusedInOne ? 3 : 1;

using Bits [[gnu::vector_size(kLanes * 4), gnu::aligned(4), gnu::may_alias]] = int32_t;
#if defined(__AVX512F__)
constexpr Bits kFromLane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif defined(__FMA__)
constexpr Bits kFromLane = {0, 1, 2, 3, 4, 5, 6, 7};
#else
constexpr Bits kFromLane = {0, 1, 2, 3};
#endif

// How many elements of each sum are added at a time, and how many bytes of w are multiplied with all rows of x before the
// loop goes on to other rows of w. Both are small enough for the first-level cache.
constexpr int64_t kDepthBlock = 1024;
constexpr int64_t kTogetherBytes = 32 << 10;

struct SmallBatchTile {
  const float *x, *w;
  int64_t stride;  ///< The distance between the rows of x, and between those of w.
  int64_t depth;
  const float* start;  ///< The values that the sums begin with: the bias or y. Null: zeros.
  int64_t start_stride;
  float* y;
  int64_t y_stride;
  bool relu;
  const float* ahead;  ///< Memory to prefetch: `depth` floats of one row of w.
};

/// Adds the products of a tile to a part of each sum's 16 lanes: the lanes from `lane` on that fit into one register.
template <int64_t kRows, int64_t kOutputs>
SHOAL_ALWAYS_INLINE void add_part(const SmallBatchTile& tile, int64_t lane, Vector (&sums)[kOutputsMax][kRows]) {
  const auto add = [&](const auto& vector) __attribute__((always_inline)) {
    Vector x[kRows];
#pragma GCC unroll 6
    for (int64_t row = 0; row < kRows; ++row) vector(tile.x + row * tile.stride, x[row]);
#pragma GCC unroll 4
    for (int64_t o = 0; o < kOutputs; ++o) {
      Vector w;
      vector(tile.w + o * tile.stride, w);
#pragma GCC unroll 6
      for (int64_t row = 0; row < kRows; ++row) sums[o][row] = fused(w, x[row], sums[o][row]);
    }
  };
  int64_t k = 0;
  for (; k + kStep <= tile.depth; k += kStep) {
    __builtin_prefetch(tile.ahead + k + lane);
    add([&](const float* from, Vector& to) __attribute__((always_inline)) { to = load(from + k + lane); });
  }
  if (k < tile.depth) {  // The last 16 elements of the row; those that were added before are masked out.
    const Bits rest = kFromLane + int32_t(lane) >= int32_t(kStep - (tile.depth - k));
    add([&](const float* from, Vector& to) __attribute__((always_inline)) {
      const Bits bits = *reinterpret_cast<const Bits*>(from + tile.depth - kStep + lane) & rest;
      to = __builtin_bit_cast(Vector, bits);
    });
  }
}

/// Adds up the 16 lanes of each of four outputs. The upper eight lanes are added to the lower eight. Then neighbours
/// are added, so that eight numbers become four, and four become two. At last these two are added.
SHOAL_ALWAYS_INLINE void sums_of(const float* lanes, int64_t stride, Quarter& sums) {
  Eight a, b, c, d;
  fold(lanes, a), fold(lanes + stride, b), fold(lanes + 2 * stride, c), fold(lanes + 3 * stride, d);
  const Eight ab =
      __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14) + __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  const Eight cd =
      __builtin_shufflevector(c, d, 0, 8, 2, 10, 4, 12, 6, 14) + __builtin_shufflevector(c, d, 1, 9, 3, 11, 5, 13, 7, 15);
  const Eight abcd = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
                     __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
  sums = __builtin_shufflevector(abcd, abcd, 0, 1, 2, 3) + __builtin_shufflevector(abcd, abcd, 4, 5, 6, 7);
}

template <int64_t kRows, int64_t kOutputs>
SHOAL_ALWAYS_INLINE void multiply_small_tile(const SmallBatchTile& tile) {
  float lanes[kRows][kOutputsMax][kStep] = {};
#pragma GCC unroll 4
  for (int64_t lane = 0; lane < kStep; lane += kLanes) {
    Vector sums[kOutputsMax][kRows] = {};
    add_part<kRows, kOutputs>(tile, lane, sums);
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t o = 0; o < kOutputs; ++o) store(lanes[row][o] + lane, sums[o][row]);
    }
  }
  for (int64_t row = 0; row < kRows; ++row) {
    Quarter sum;
    sums_of(lanes[row][0], kStep, sum);
    float* const y = tile.y + row * tile.y_stride;
    const float* const start = tile.start ? tile.start + row * tile.start_stride : nullptr;
    if constexpr (kOutputs == kOutputsMax) {
      Quarter value = sum;
      if (start) value += *reinterpret_cast<const Quarter*>(start);
      if (tile.relu) value = value < 0.0f ? Quarter{} : value;  // NaN stays NaN.
      *reinterpret_cast<Quarter*>(y) = value;
    } else {
      for (int64_t o = 0; o < kOutputs; ++o) {
        const float value = start ? start[o] + sum[o] : sum[o];
        y[o] = tile.relu && value < 0.0f ? 0.0f : value;
      }
    }
  }
}

template <int64_t kOutputs>
SHOAL_ALWAYS_INLINE void multiply_small_rows(const SmallBatchTile& tile, int64_t rows) {
  with_count<kSmallRowsMax>(
      rows, [&](auto known)
                __attribute__((always_inline)) { multiply_small_tile<decltype(known)::value, kOutputs>(tile); });
}

/// Adds only the products of elements [k, k + depth) to each sum. If k is not 0, y holds the sums of the elements before k.
SHOAL_ALWAYS_INLINE void multiply_small_block(const SmallBatch& product, int64_t k, int64_t depth, int64_t first,
                                              int64_t last) {
  const bool begins = k == 0, ends = k + depth == product.in;
  // Rows of w from `last` on are needed after this block. Each tile of rows of x prefetches one of them: the first tile row
  // `last`, the second tile row last + 1, and so on.
  int64_t next = last;
  for (int64_t row = 0, rows = 0; row < product.rows; row += rows, ++next) {
    const int64_t tiles = (product.rows - row + kSmallRowsMax - 1) / kSmallRowsMax;
    rows = (product.rows - row + tiles - 1) / tiles;  // Tiles are as equal as possible.
    for (int64_t o = first; o < last; o += kOutputsMax) {
      const float* const bias = product.bias ? product.bias + o : nullptr;
      const SmallBatchTile tile{
          .x = product.x + row * product.in + k,
          .w = product.w + o * product.in + k,
          .stride = product.in,
          .depth = depth,
          .start = begins ? bias : product.y + row * product.out + o,
          .start_stride = begins ? 0 : product.out,
          .y = product.y + row * product.out + o,
          .y_stride = product.out,
          .relu = product.relu && ends,
          .ahead = product.w + (next + o - first < product.out ? next + o - first : o) * product.in + k};
      with_count<kOutputsMax>(
          last - o, [&](auto known)
                        __attribute__((always_inline)) { multiply_small_rows<decltype(known)::value>(tile, rows); });
    }
  }
}

SHOAL_ALWAYS_INLINE void multiply_small(const SmallBatch& product, int64_t first, int64_t last) {
  // Divides the inputs of the layer into blocks that are as equal as possible and consist of whole vectors.
  const int64_t blocks = (product.in + kDepthBlock - 1) / kDepthBlock;
  const int64_t depth = (product.in + blocks * kStep - 1) / (blocks * kStep) * kStep;
  const int64_t groups = kTogetherBytes / (depth * kOutputsMax * int64_t(sizeof(float)));
  const int64_t together = (groups < 1 ? 1 : groups) * kOutputsMax;
  for (int64_t k = 0; k < product.in; k += depth) {
    for (int64_t o = first; o < last; o += together) {
      multiply_small_block(product, k, depth < product.in - k ? depth : product.in - k, o,
                           o + together < last ? o + together : last);
    }
  }
}

/// Multiplies rows of 8 to 15 elements, fewer than the 16 lanes of other sums. Here a sum has eight lanes. The elements
/// after the eighth are added to the last lanes.
void multiply_shallow(const SmallBatch& product, int64_t first, int64_t last) {
  constexpr int64_t kHalf = kStep / 2;
  for (int64_t row = 0; row < product.rows; ++row) {
    const float* const x = product.x + row * product.in;
    for (int64_t o = first; o < last; ++o) {
      const float* const w = product.w + o * product.in;
      float lanes[kHalf];
      for (int64_t i = 0; i < kHalf; ++i) lanes[i] = fused(w[i], x[i], 0.0f);
      for (int64_t k = kHalf; k < product.in; ++k) {
        float& lane = lanes[k - (product.in - kHalf)];
        lane = fused(w[k], x[k], lane);
      }
      const float sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
      const float value = product.bias ? product.bias[o] + sum : sum;
      product.y[row * product.out + o] = product.relu && value < 0.0f ? 0.0f : value;
    }
  }
}

void run_small_batch_dense(const SmallBatch& product, int64_t first, int64_t last) {
  product.in >= kStep ? multiply_small(product, first, last) : multiply_shallow(product, first, last);
}

}  // namespace
}  // namespace shoal::backends::portable
