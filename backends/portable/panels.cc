// SPDX-License-Identifier: Apache-2.0
#include "panels.h"

#include <algorithm>

#include "product_code.h"
#include "shoal/base/vector_loop.h"

namespace shoal::backends::portable {
namespace {

// Each element of the product c is a sum of products. All elements of c first get this many of their products, then the
// next ones. So this many rows of a panel of b stay in the first-level cache while they are used for all rows of `a`.
constexpr int64_t kDepthBlock = kLeftBlockDepth;

SHOAL_VECTOR_LOOP void pack_panel(const float* __restrict b, int64_t row_stride, int64_t column_stride, int64_t depth,
                                  int64_t columns, float factor, float* __restrict panel) {
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
  } else if (column_stride == 1) {
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t j = 0; j < columns; ++j) panel[k * kPanelColumns + j] = b[k * row_stride + j] * factor;
    }
  } else {
    for (int64_t j = 0; j < columns; ++j) {  // In b, each column is contiguous.
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

/// Describes one call of the inner loops (product_code.h) for the columns of c in the panels [p, end). The loops add up to
/// kDepthBlock products to each element of c, beginning with column k of `a`. The description refers to `a` itself. A
/// caller may change it to refer to a packed copy of a block of `a`, as multiply_transposed() does.
PanelTile tile_of(const PanelProduct& product, int64_t p, int64_t end, int64_t k) {
  const int64_t packed_depth = product.packed_depth > 0 ? product.packed_depth : product.depth;
  const int64_t column = p * kPanelColumns;
  const bool plain = product.plain_stride != 0;
  return {.a = product.a.data + k * product.a.column_stride,
          .a_row_stride = product.a.row_stride,
          .a_column_stride = product.a.column_stride,
          .left_packed = false,
          .panel = plain ? product.packed + k * product.plain_stride + column
                         : product.packed + column * packed_depth + k * kPanelColumns,
          .panel_stride = plain ? kPanelColumns : kPanelColumns * packed_depth,
          .panel_row_stride = plain ? product.plain_stride : kPanelColumns,
          .depth = std::min(kDepthBlock, product.depth - k),
          .c = product.c + column,
          .c_stride = product.c_stride,
          .columns = std::min((end - p) * kPanelColumns, product.columns - column),
          .accumulate = product.accumulate || k > 0,
          .ahead = product.ahead ? product.ahead + k * product.ahead_stride + (plain ? column : 0) : nullptr,
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
  for (int64_t k = 0; k < product.depth || k == 0; k += kDepthBlock) {
    for (int64_t p = first; p < last; p += together) {
      code.multiply_rows(tile_of(product, p, std::min(p + together, last), k), product.rows);
    }
  }
}

void multiply_transposed(const PanelProduct& product, int64_t first, int64_t last, float* left) {
  const ProductCode& code = product_code();
  const int64_t together = code.panels_together, panels = panel_count(product.columns);
  for (int64_t k = 0; k < product.depth || k == 0; k += kDepthBlock) {
    const int64_t depth = std::min(kDepthBlock, product.depth - k);
    for (int64_t row = first; row < last; row += kLeftBlockRows) {
      const int64_t rows = std::min(kLeftBlockRows, last - row);
      code.pack_left(product.a.data + row + k * product.a.column_stride, product.a.column_stride, depth, rows, left);
      for (int64_t p = 0; p < panels; p += together) {
        PanelTile tile = tile_of(product, p, std::min(p + together, panels), k);
        tile.a = left;
        tile.left_packed = true;
        tile.c += row * product.c_stride;
        code.multiply_rows(tile, rows);
      }
    }
  }
}

}  // namespace shoal::backends::portable
