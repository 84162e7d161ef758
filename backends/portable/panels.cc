// SPDX-License-Identifier: Apache-2.0
#include "panels.h"

#include <algorithm>

#include "product_code.h"
#include "shoal/base/vector_loop.h"
#include "transpose.h"

namespace shoal::backends::portable {
namespace {

// Each element of the product c is a sum of products. All elements of c first get this many of their products, then the
// next ones. So this many rows of a panel of b stay in the first-level cache while they are used for all rows of `a`.
constexpr int64_t kDepthBlock = kLeftBlockDepth;

SHOAL_VECTOR_LOOP void pack_panel(const float* __restrict b, int64_t row_stride, int64_t column_stride, int64_t depth,
                                  int64_t columns, float factor, float* __restrict panel) {
  constexpr int64_t kTogether = 4;
  if (columns < kPanelColumns) {
    for (int64_t i = 0; i < depth * kPanelColumns; ++i) panel[i] = 0.0f;
  }
  if (column_stride == 1 && columns == kPanelColumns) {
    // How many rows ahead to prefetch. Processors prefetch by themselves, but not if rows are a page apart.
    constexpr int64_t kAhead = 16;
    for (int64_t k = 0; k < depth; ++k) {
      __builtin_prefetch(b + (k + kAhead < depth ? k + kAhead : k) * row_stride);
      for (int64_t j = 0; j < kPanelColumns; ++j) panel[k * kPanelColumns + j] = b[k * row_stride + j] * factor;
    }
  } else if (column_stride == 1 && columns >= kTogether) {
    // The last columns are copied with columns before them, which are copied twice: that is faster than one by one.
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t j = 0; j < columns; j += kTogether) {
        const int64_t from = std::min(j, columns - kTogether);
        for (int64_t i = from; i < from + kTogether; ++i) panel[k * kPanelColumns + i] = b[k * row_stride + i] * factor;
      }
    }
  } else if (row_stride == 1) {
    transpose(
        b, column_stride, columns, depth,
        factor, [panel](int64_t k) __attribute__((always_inline)) { return panel + k * kPanelColumns; });
  } else {
    for (int64_t j = 0; j < columns; ++j) {
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

/// What one call of the inner loops adds to each element of c: the columns [k, k + depth) of `a` in each of `runs` runs,
/// beginning with the run `run`.
struct DepthBlock {
  int64_t run, runs, k, depth;
};

/// Calls use(DepthBlock) for all blocks of a product, in the order of its sums. A block has up to kDepthBlock products: whole
/// runs, or a part of one.
template <class Use>
void for_depth_blocks(const PanelProduct& product, const Use& use) {
  const int64_t together = product.depth > 0 ? std::max<int64_t>(1, kDepthBlock / product.depth) : product.runs;
  for (int64_t run = 0; run < product.runs; run += together) {
    const int64_t runs = std::min(together, product.runs - run);
    for (int64_t k = 0; k < product.depth || k == 0; k += kDepthBlock) {
      use(DepthBlock{run, runs, k, std::min(kDepthBlock, product.depth - k)});
    }
  }
}

/// Describes one call of the inner loops (product_code.h) for the columns of c in the panels [p, end). The description
/// refers to `a` itself. A caller may change it to refer to a packed copy of a block of `a`, as multiply_transposed() does.
PanelTile tile_of(const PanelProduct& product, int64_t p, int64_t end, const DepthBlock& block) {
  const int64_t packed_depth = product.packed_depth > 0 ? product.packed_depth : product.runs * product.depth;
  const int64_t column = p * kPanelColumns, row = block.run * product.depth + block.k;
  const bool plain = product.plain_stride != 0;
  return {.a = product.a.data + block.run * product.run_stride + block.k * product.a.column_stride,
          .a_row_stride = product.a.row_stride,
          .a_column_stride = product.a.column_stride,
          .left_packed = false,
          .panel = plain ? product.packed + row * product.plain_stride + column
                         : product.packed + column * packed_depth + row * kPanelColumns,
          .panel_stride = plain ? kPanelColumns : kPanelColumns * packed_depth,
          .panel_row_stride = plain ? product.plain_stride : kPanelColumns,
          .depth = block.depth,
          .runs = block.runs,
          .run_stride = product.run_stride,
          .c = product.c + column,
          .c_stride = product.c_stride,
          .columns = std::min((end - p) * kPanelColumns, product.columns - column),
          .accumulate = product.accumulate || row > 0,
          .ahead = product.ahead ? product.ahead + row * product.ahead_stride + (plain ? column : 0) : nullptr,
          .ahead_stride = product.ahead_stride};
}

}  // namespace

int64_t columns_ahead(int64_t rows) {
  // Each tile of rows prefetches as many columns as a panel has. On most processors a tile can have 6 or 8 rows, so there
  // are at most rows / kTileRows tiles, rounded up.
  constexpr int64_t kTileRows = 6;
  return (rows + kTileRows - 1) / kTileRows * kPanelColumns;
}

void multiply(const PanelProduct& product, int64_t first, int64_t last) {
  const ProductCode& code = product_code();
  const int64_t together = code.panels_together;
  for_depth_blocks(product, [&](const DepthBlock& block) {
    for (int64_t p = first; p < last; p += together) {
      code.multiply_rows(tile_of(product, p, std::min(p + together, last), block), product.rows);
    }
  });
}

void multiply_transposed(const PanelProduct& product, int64_t first, int64_t last, float* left) {
  const ProductCode& code = product_code();
  const int64_t together = code.panels_together, panels = panel_count(product.columns);
  for_depth_blocks(product, [&](const DepthBlock& block) {
    for (int64_t row = first; row < last; row += kLeftBlockRows) {
      const int64_t rows = std::min(kLeftBlockRows, last - row);
      code.pack_left(product.a.data + row + block.k * product.a.column_stride, product.a.column_stride, block.depth, rows,
                     left);
      for (int64_t p = 0; p < panels; p += together) {
        PanelTile tile = tile_of(product, p, std::min(p + together, panels), block);
        tile.a = left;
        tile.left_packed = true;
        tile.c += row * product.c_stride;
        code.multiply_rows(tile, rows);
      }
    }
  });
}

}  // namespace shoal::backends::portable
