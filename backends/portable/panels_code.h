// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The inner loops of the products of panels.h, which compute c tile by tile. The file that includes this header determines
/// the instruction set.
#include "fused.h"
#include "panels.h"
#include "product_code.h"

namespace shoal::backends::portable {
namespace {

// The largest tile that fits into the registers. AVX2 has sixteen: six rows of sums take two vectors each, a row of the
// panel takes two, and a factor takes one. Arm has 32 registers, for six rows of four vectors. With AVX-512 a row of a
// panel is one vector, so a tile is two panels wide. Eight rows then have 16 sums, for which ten vectors are loaded in each
// step. Twelve rows would be 3 % slower.
constexpr int64_t kTileRowsMax = kLanes == 16 ? 8 : kFusedInOne ? 6 : 2, kTilePanelsMax = kLanes == 16 ? 2 : 1;

/// Reads a's elements for kRows rows. One address register serves three rows, since there are not enough registers for an
/// address per row.
template <int64_t kRows, bool kLeftPacked>
class LeftRows {
 public:
  SHOAL_ALWAYS_INLINE explicit LeftRows(const PanelTile& tile)
      : stride_(kLeftPacked ? 1 : tile.a_row_stride), step_(kLeftPacked ? kRows : tile.a_column_stride) {
    unrolled<kAddresses>([&](auto i) __attribute__((always_inline)) {
      rows_[i.value] = tile.a + (kLeftPacked ? 0 : kTogether * i.value * tile.a_row_stride);
    });
  }
  SHOAL_ALWAYS_INLINE float operator[](int64_t row) const {
    return kLeftPacked ? rows_[0][row] : rows_[row / kTogether][row % kTogether * stride_];
  }
  SHOAL_ALWAYS_INLINE void next() { move(kLeftPacked ? kRows : step_); }
  /// Goes from the end of a run of `depth` columns to the next run.
  SHOAL_ALWAYS_INLINE void next_run(int64_t depth, int64_t run_stride) { move(run_stride - depth * step_); }

 private:
  SHOAL_ALWAYS_INLINE void move(int64_t floats) {
    unrolled<kAddresses>([&](auto i) __attribute__((always_inline)) { rows_[i.value] += floats; });
  }

  static constexpr int64_t kTogether = 3, kAddresses = kLeftPacked ? 1 : (kRows + kTogether - 1) / kTogether;
  int64_t stride_, step_;
  const float* rows_[kAddresses];
};

template <int64_t kRows, int64_t kVectors, bool kLeftPacked, bool kAhead>
SHOAL_ALWAYS_INLINE void multiply_tile(const PanelTile& tile) {
  constexpr int64_t kColumns = kVectors * kLanes;
  Vector sums[kRows][kVectors];
  float edge[kRows][kColumns];  // Sums of a tile that is wider than the remaining columns of c.
  const bool whole = tile.columns == kColumns;
  float* c = whole ? tile.c : edge[0];
  const int64_t c_stride = whole ? tile.c_stride : kColumns;
  const auto for_sums = [](const auto& body) __attribute__((always_inline)) {
    unrolled<kRows>([&](auto row) __attribute__((always_inline)) {
      unrolled<kVectors>([&](auto v) __attribute__((always_inline)) { body(row, v); });
    });
  };
  if (tile.accumulate) {
    for (int64_t row = 0; !whole && row < kRows; ++row) {
      for (int64_t column = 0; column < kColumns; ++column) {
        edge[row][column] = column < tile.columns ? tile.c[row * tile.c_stride + column] : 0.0f;
      }
    }
    for_sums([&](auto row, auto v) __attribute__((always_inline)) {
      sums[row.value][v.value] = load(c + row.value * c_stride + v.value * kLanes);
    });
  } else {
    for_sums([&](auto row, auto v) __attribute__((always_inline)) { sums[row.value][v.value] = Vector{}; });
  }
  LeftRows<kRows, kLeftPacked> left(tile);
  const float *panel = tile.panel, *ahead = tile.ahead;
  for (int64_t run = tile.runs;;) {
    for (int64_t k = 0; k < tile.depth; ++k) {
      if constexpr (kAhead) {
        __builtin_prefetch(ahead);
        ahead += tile.ahead_stride;
      }
      Vector factors[kVectors];
      unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
        constexpr int64_t kLane = v.value * kLanes;
        factors[v.value] = load(panel + kLane / kPanelColumns * tile.panel_stride + kLane % kPanelColumns);
      });
      unrolled<kRows>([&](auto row) __attribute__((always_inline)) {
        const Vector factor = spread(left[row.value]);
        unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
          sums[row.value][v.value] = fused(factors[v.value], factor, sums[row.value][v.value]);
        });
      });
      left.next();
      panel += tile.panel_row_stride;
    }
    if (kLeftPacked || --run == 0) break;
    left.next_run(tile.depth, tile.run_stride);
  }
  for_sums([&](auto row, auto v) __attribute__((always_inline)) {
    store(c + row.value * c_stride + v.value * kLanes, sums[row.value][v.value]);
  });
  for (int64_t row = 0; !whole && row < kRows; ++row) {
    for (int64_t column = 0; column < tile.columns; ++column) tile.c[row * tile.c_stride + column] = edge[row][column];
  }
}

/// The number of rows of the next tile, if `rows` rows are left. Tiles are as equal as possible: 32 rows are 6, 6, 5, 5, 5,
/// 5, since a tile of two rows takes nearly the time of one of six.
SHOAL_ALWAYS_INLINE int64_t tile_rows(int64_t rows) {
  const int64_t tiles = (rows + kTileRowsMax - 1) / kTileRowsMax;
  return (rows + tiles - 1) / tiles;
}

template <int64_t kVectors, bool kLeftPacked, bool kAhead>
SHOAL_ALWAYS_INLINE void multiply_tiles(PanelTile tile, int64_t rows) {
  while (rows > 0) {
    const int64_t count = tile_rows(rows);
    with_count<kTileRowsMax>(
        count, [&](auto known) __attribute__((always_inline)) {
          multiply_tile<decltype(known)::value, kVectors, kLeftPacked, kAhead>(tile);
        });
    tile.a += tile.left_packed ? count * tile.depth : count * tile.a_row_stride;
    tile.c += count * tile.c_stride;
    if constexpr (kAhead) tile.ahead += kPanelColumns;
    rows -= count;
  }
}

template <int64_t kPanels>
SHOAL_ALWAYS_INLINE void multiply_tiles(const PanelTile& tile, int64_t rows) {
  constexpr int64_t kVectors = kPanelColumns / kLanes * kPanels;
  if (tile.left_packed) return multiply_tiles<kVectors, true, false>(tile, rows);
  tile.ahead ? multiply_tiles<kVectors, false, true>(tile, rows) : multiply_tiles<kVectors, false, false>(tile, rows);
}

/// Computes all rows of a tile that is up to kTilePanelsMax panels wide.
void multiply_rows(const PanelTile& tile, int64_t rows) {
  if constexpr (kTilePanelsMax == 2) {
    if (tile.columns > kPanelColumns) return multiply_tiles<2>(tile, rows);
  }
  // Convolutions with few filters use only one half of a panel. Its other half is zeros.
  if constexpr (constexpr int64_t kHalf = kPanelColumns / 2; kFusedInOne && kLanes <= kHalf) {
    if (tile.columns <= kHalf && !tile.left_packed && !tile.ahead)
      return multiply_tiles<kHalf / kLanes, false, false>(tile, rows);
  }
  multiply_tiles<1>(tile, rows);
}

/// Packs `rows` rows of a matrix that is stored as its transpose [depth, rows], one tile after the other.
void pack_left(const float* a, int64_t stride, int64_t depth, int64_t rows, float* left) {
  while (rows > 0) {
    const int64_t count = tile_rows(rows);
    int64_t k = 0;
    // Copies `count` elements for each k. The first loop copies whole vectors, so it may write more than `count`
    // elements. The copy for k + 1 overwrites those that are too many. The loop ends before it would read or write beyond
    // the arrays, and the second loop copies the rest element by element.
    constexpr int64_t kWhole = (kTileRowsMax + kLanes - 1) / kLanes * kLanes;
    if (stride >= kWhole) {
      for (; (depth - k) * count >= kWhole && k + 1 < depth; ++k) {
#pragma GCC unroll 4
        for (int64_t row = 0; row < kWhole; row += kLanes) store(left + k * count + row, load(a + k * stride + row));
      }
    }
    for (; k < depth; ++k) {
      for (int64_t row = 0; row < count; ++row) left[k * count + row] = a[k * stride + row];
    }
    a += count;
    left += count * depth;
    rows -= count;
  }
}

}  // namespace
}  // namespace shoal::backends::portable
