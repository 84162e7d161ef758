// SPDX-License-Identifier: Apache-2.0
// Compiled with contraction on (CMakeLists.txt): a product of matrices takes fused multiply-adds or twice the time.
#include "panels.h"

#include <algorithm>

#include "shoal/base/vector_loop.h"

namespace shoal::backends::onednn {
namespace {

// A row of a panel is two vectors of eight floats: six rows of sums, the panel's row and one factor fill the sixteen
// registers of AVX2. With AVX-512 it is one vector, and a tile is two panels wide: 24 sums, of which twelve rows and two
// vectors are loaded, where a tile of one panel loads thirteen for twelve and waits for them.
struct Narrow {
  using Vector [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = float;
  static constexpr int64_t kRowsMax = 6, kPanelsMax = 1;
};
struct Wide {
  using Vector [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;
  static constexpr int64_t kRowsMax = 12, kPanelsMax = 2;
};

// What of the depth is summed at a time: a panel's part stays in the first-level cache while all rows pass.
constexpr int64_t kDepthBlock = kLeftBlockDepth;

struct Tile {
  const float* a;
  int64_t a_row_stride, a_column_stride;
  bool left_packed;  ///< True if a is a row of tiles, [depth, rows of the tile] each.
  const float* panel;
  int64_t panel_stride;  ///< Distance from a panel to the next one.
  int64_t depth;
  float* c;
  int64_t c_stride;
  int64_t columns;
  bool accumulate;
  const float* ahead;  ///< What is asked for meanwhile: in each of `depth` rows, a line for each tile.
  int64_t ahead_stride;
};

/// The factors of kRows rows. Three rows share an address: as many addresses as rows would not fit the registers.
template <int64_t kRows, bool kLeftPacked>
class LeftRows {
 public:
  SHOAL_ALWAYS_INLINE explicit LeftRows(const Tile& tile)
      : stride_(kLeftPacked ? 1 : tile.a_row_stride), step_(kLeftPacked ? kRows : tile.a_column_stride) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kAddresses; ++i) rows_[i] = tile.a + (kLeftPacked ? 0 : kTogether * i * tile.a_row_stride);
  }
  SHOAL_ALWAYS_INLINE float operator[](int64_t row) const {
    return kLeftPacked ? rows_[0][row] : rows_[row / kTogether][row % kTogether * stride_];
  }
  SHOAL_ALWAYS_INLINE void next() {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kAddresses; ++i) rows_[i] += kLeftPacked ? kRows : step_;
  }

 private:
  static constexpr int64_t kTogether = 3, kAddresses = kLeftPacked ? 1 : (kRows + kTogether - 1) / kTogether;
  int64_t stride_, step_;
  const float* rows_[kAddresses];
};

template <class Registers, int64_t kRows, int64_t kPanels, bool kLeftPacked, bool kAhead>
SHOAL_ALWAYS_INLINE void multiply_tile(const Tile& tile) {
  using Vector = typename Registers::Vector;
  constexpr int64_t kLanes = sizeof(Vector) / sizeof(float), kVectors = kPanelColumns / kLanes * kPanels;
  constexpr int64_t kColumns = kPanelColumns * kPanels;
  Vector sums[kRows][kVectors];
  float edge[kRows][kColumns];  // Sums of panels that are wider than what is left of c.
  const bool whole = tile.columns == kColumns;
  float* c = whole ? tile.c : edge[0];
  const int64_t c_stride = whole ? tile.c_stride : kColumns;
  if (tile.accumulate) {
    for (int64_t row = 0; !whole && row < kRows; ++row) {
      for (int64_t column = 0; column < kColumns; ++column) {
        edge[row][column] = column < tile.columns ? tile.c[row * tile.c_stride + column] : 0.0f;
      }
    }
#pragma GCC unroll 12
    for (int64_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
      for (int64_t v = 0; v < kVectors; ++v) {
        sums[row][v] = *reinterpret_cast<const Vector*>(c + row * c_stride + v * kLanes);
      }
    }
  } else {
#pragma GCC unroll 12
    for (int64_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
      for (int64_t v = 0; v < kVectors; ++v) sums[row][v] = Vector{};
    }
  }
  LeftRows<kRows, kLeftPacked> left(tile);
  const float *panel = tile.panel, *ahead = tile.ahead;
  for (int64_t k = 0; k < tile.depth; ++k) {
    if constexpr (kAhead) {
      __builtin_prefetch(ahead);
      ahead += tile.ahead_stride;
    }
    Vector factors[kVectors];
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; ++v) {
      const int64_t lane = v * kLanes;
      factors[v] =
          *reinterpret_cast<const Vector*>(panel + lane / kPanelColumns * tile.panel_stride + lane % kPanelColumns);
    }
#pragma GCC unroll 12
    for (int64_t row = 0; row < kRows; ++row) {
      const float factor = left[row];
#pragma GCC unroll 2
      for (int64_t v = 0; v < kVectors; ++v) sums[row][v] += factors[v] * factor;
    }
    left.next();
    panel += kPanelColumns;
  }
#pragma GCC unroll 12
  for (int64_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; ++v) *reinterpret_cast<Vector*>(c + row * c_stride + v * kLanes) = sums[row][v];
  }
  for (int64_t row = 0; !whole && row < kRows; ++row) {
    for (int64_t column = 0; column < tile.columns; ++column) tile.c[row * tile.c_stride + column] = edge[row][column];
  }
}

/// How many rows the next of the tiles of `rows` rows has. Tiles as equal as can be: 32 rows are 6, 6, 5, 5, 5, 5, since a
/// tile of two takes nearly the time of one of six.
template <class Registers>
SHOAL_ALWAYS_INLINE int64_t tile_rows(int64_t rows) {
  const int64_t tiles = (rows + Registers::kRowsMax - 1) / Registers::kRowsMax;
  return (rows + tiles - 1) / tiles;
}

template <class Registers, int64_t kPanels, bool kLeftPacked, bool kAhead>
SHOAL_ALWAYS_INLINE void multiply_tiles(Tile tile, int64_t rows) {
  while (rows > 0) {
    const int64_t count = tile_rows<Registers>(rows);
    switch (count) {
      case 1: multiply_tile<Registers, 1, kPanels, kLeftPacked, kAhead>(tile); break;
      case 2: multiply_tile<Registers, 2, kPanels, kLeftPacked, kAhead>(tile); break;
      case 3: multiply_tile<Registers, 3, kPanels, kLeftPacked, kAhead>(tile); break;
      case 4: multiply_tile<Registers, 4, kPanels, kLeftPacked, kAhead>(tile); break;
      case 5: multiply_tile<Registers, 5, kPanels, kLeftPacked, kAhead>(tile); break;
      case 6: multiply_tile<Registers, 6, kPanels, kLeftPacked, kAhead>(tile); break;
      default:
        if constexpr (Registers::kRowsMax > 6) {
          switch (count) {
            case 7: multiply_tile<Registers, 7, kPanels, kLeftPacked, kAhead>(tile); break;
            case 8: multiply_tile<Registers, 8, kPanels, kLeftPacked, kAhead>(tile); break;
            case 9: multiply_tile<Registers, 9, kPanels, kLeftPacked, kAhead>(tile); break;
            case 10: multiply_tile<Registers, 10, kPanels, kLeftPacked, kAhead>(tile); break;
            case 11: multiply_tile<Registers, 11, kPanels, kLeftPacked, kAhead>(tile); break;
            default: multiply_tile<Registers, 12, kPanels, kLeftPacked, kAhead>(tile); break;
          }
        }
    }
    tile.a += tile.left_packed ? count * tile.depth : count * tile.a_row_stride;
    tile.c += count * tile.c_stride;
    if constexpr (kAhead) tile.ahead += kPanelColumns;
    rows -= count;
  }
}

template <class Registers, int64_t kPanels>
SHOAL_ALWAYS_INLINE void multiply_tiles(const Tile& tile, int64_t rows) {
  if (tile.left_packed) return multiply_tiles<Registers, kPanels, true, false>(tile, rows);
  tile.ahead ? multiply_tiles<Registers, kPanels, false, true>(tile, rows)
             : multiply_tiles<Registers, kPanels, false, false>(tile, rows);
}

/// All rows of the columns of up to kPanelsMax panels.
template <class Registers>
SHOAL_ALWAYS_INLINE void multiply_panels(const Tile& tile, int64_t rows) {
  if constexpr (Registers::kPanelsMax == 2) {
    if (tile.columns > kPanelColumns) return multiply_tiles<Registers, 2>(tile, rows);
  }
  multiply_tiles<Registers, 1>(tile, rows);
}

SHOAL_VECTOR_LOOP void multiply_rows_narrow(const Tile& tile, int64_t rows) { multiply_panels<Narrow>(tile, rows); }
SHOAL_WIDE_LOOP void multiply_rows_wide(const Tile& tile, int64_t rows) { multiply_panels<Wide>(tile, rows); }
void multiply_rows(const Tile& tile, int64_t rows) {
  has_wide_loops() ? multiply_rows_wide(tile, rows) : multiply_rows_narrow(tile, rows);
}
int64_t panels_together() { return has_wide_loops() ? Wide::kPanelsMax : Narrow::kPanelsMax; }

/// Rows of the transpose of a [depth, rows], as tiles.
template <class Registers>
SHOAL_ALWAYS_INLINE void pack_tiles(const float* a, int64_t stride, int64_t depth, int64_t rows, float* left) {
  using Vector = typename Registers::Vector;
  constexpr int64_t kLanes = sizeof(Vector) / sizeof(float);
  while (rows > 0) {
    const int64_t count = tile_rows<Registers>(rows);
    int64_t k = 0;
    // A whole vector for each depth: what is too much of it, the next one overwrites. Both stay inside their arrays.
    if (stride >= kLanes) {
      for (; (depth - k) * count >= kLanes && k + 1 < depth; ++k) {
        *reinterpret_cast<Vector*>(left + k * count) = *reinterpret_cast<const Vector*>(a + k * stride);
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

SHOAL_VECTOR_LOOP void pack_left_narrow(const float* a, int64_t stride, int64_t depth, int64_t rows, float* left) {
  pack_tiles<Narrow>(a, stride, depth, rows, left);
}
SHOAL_WIDE_LOOP void pack_left_wide(const float* a, int64_t stride, int64_t depth, int64_t rows, float* left) {
  pack_tiles<Wide>(a, stride, depth, rows, left);
}
void pack_left(const float* a, int64_t stride, int64_t depth, int64_t rows, float* left) {
  has_wide_loops() ? pack_left_wide(a, stride, depth, rows, left) : pack_left_narrow(a, stride, depth, rows, left);
}

SHOAL_VECTOR_LOOP void pack_panel(const float* __restrict b, int64_t row_stride, int64_t column_stride, int64_t depth,
                                  int64_t columns, float factor, float* __restrict panel) {
  if (columns < kPanelColumns) {
    for (int64_t i = 0; i < depth * kPanelColumns; ++i) panel[i] = 0.0f;
  }
  if (column_stride == 1 && columns == kPanelColumns) {
    constexpr int64_t kAhead = 16;  // Rows that are a page apart are no stream to a processor.
    for (int64_t k = 0; k < depth; ++k) {
      __builtin_prefetch(b + (k + kAhead < depth ? k + kAhead : k) * row_stride);
      for (int64_t j = 0; j < kPanelColumns; ++j) panel[k * kPanelColumns + j] = b[k * row_stride + j] * factor;
    }
  } else if (column_stride == 1) {
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t j = 0; j < columns; ++j) panel[k * kPanelColumns + j] = b[k * row_stride + j] * factor;
    }
  } else {
    for (int64_t j = 0; j < columns; ++j) {  // What is contiguous is read in order.
      for (int64_t k = 0; k < depth; ++k) panel[k * kPanelColumns + j] = b[k * row_stride + j * column_stride] * factor;
    }
  }
}

}  // namespace

void pack(const Strided& b, int64_t depth, int64_t columns, float factor, float* packed, int64_t first, int64_t last) {
  for (int64_t p = first; p < last; ++p) {
    const int64_t column = p * kPanelColumns;
    pack_panel(b.data + column * b.column_stride, b.row_stride, b.column_stride, depth,
               std::min(kPanelColumns, columns - column), factor, packed + column * depth);
  }
}

namespace {

/// The tiles of the panels [p, end), from depth k on; a is where the caller says.
Tile tile_of(const PanelProduct& product, int64_t p, int64_t end, int64_t k) {
  const int64_t packed_depth = product.packed_depth > 0 ? product.packed_depth : product.depth;
  const int64_t column = p * kPanelColumns;
  return {.a = product.a.data + k * product.a.column_stride,
          .a_row_stride = product.a.row_stride,
          .a_column_stride = product.a.column_stride,
          .left_packed = false,
          .panel = product.packed + column * packed_depth + k * kPanelColumns,
          .panel_stride = kPanelColumns * packed_depth,
          .depth = std::min(kDepthBlock, product.depth - k),
          .c = product.c + column,
          .c_stride = product.c_stride,
          .columns = std::min((end - p) * kPanelColumns, product.columns - column),
          .accumulate = product.accumulate || k > 0,
          .ahead = product.ahead ? product.ahead + k * product.ahead_stride : nullptr,
          .ahead_stride = product.ahead_stride};
}

}  // namespace

int64_t columns_ahead(int64_t rows) { return (rows + Narrow::kRowsMax - 1) / Narrow::kRowsMax * kPanelColumns; }

void multiply(const PanelProduct& product, int64_t first, int64_t last) {
  const int64_t together = panels_together();
  for (int64_t k = 0; k < product.depth || k == 0; k += kDepthBlock) {
    for (int64_t p = first; p < last; p += together) {
      multiply_rows(tile_of(product, p, std::min(p + together, last), k), product.rows);
    }
  }
}

void multiply_transposed(const PanelProduct& product, int64_t first, int64_t last, float* left) {
  const int64_t together = panels_together(), panels = panel_count(product.columns);
  for (int64_t k = 0; k < product.depth || k == 0; k += kDepthBlock) {
    const int64_t depth = std::min(kDepthBlock, product.depth - k);
    for (int64_t row = first; row < last; row += kLeftBlockRows) {
      const int64_t rows = std::min(kLeftBlockRows, last - row);
      pack_left(product.a.data + row + k * product.a.column_stride, product.a.column_stride, depth, rows, left);
      for (int64_t p = 0; p < panels; p += together) {
        Tile tile = tile_of(product, p, std::min(p + together, panels), k);
        tile.a = left;
        tile.left_packed = true;
        tile.c += row * product.c_stride;
        multiply_rows(tile, rows);
      }
    }
  }
}

}  // namespace shoal::backends::onednn
