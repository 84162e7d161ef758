// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The inner loops of all products, as they are compiled for each instruction set. Each is a file with its own flags
/// (products_avx2.cc, ...), and the program takes the widest one that its processor has. All of them compute the same bits.
#include <cstdint>
#include <span>

#include "few_rows.h"
#include "small_batch.h"

namespace shoal::backends::portable {

/// A tile consists of some rows of c, and is as wide as one or two panels (panels.h).
struct PanelTile {
  const float* a;
  int64_t a_row_stride, a_column_stride;
  bool left_packed;  ///< True if a is a row of tiles, [depth, rows of the tile] each.
  const float* panel;
  int64_t panel_stride;      ///< Distance from a panel to the next one.
  int64_t panel_row_stride;  ///< Distance between the rows of a panel: other than its width where it is not packed.
  int64_t depth;
  float* c;
  int64_t c_stride;
  int64_t columns;
  bool accumulate;
  const float* ahead;  ///< What is asked for meanwhile: in each of `depth` rows, a line for each tile.
  int64_t ahead_stride;
};

struct ProductCode {
  const char* name;
  int64_t panels_together;  ///< How many panels a tile may be wide.
  /// c = a b, or c += a b, for `rows` rows.
  void (*multiply_rows)(const PanelTile& tile, int64_t rows);
  /// Packs rows of the transpose of a [depth, rows], `stride` apart, as tiles of which multiply_rows() knows the sizes.
  void (*pack_left)(const float* a, int64_t stride, int64_t depth, int64_t rows, float* left);
  // For few_rows.h: y = x w^T + bias (null: none), the columns [first, last) of it;
  void (*few_rows_dense)(const FewRows& sizes, const float* x, const float* w, const float* bias, float* y, int64_t first,
                         int64_t last);
  // partial [rows, in] = dy w of the rows [first, last) of w alone;
  void (*few_rows_grad_input)(const FewRows& sizes, const float* dy, const float* w, float* partial, int64_t first,
                              int64_t last);
  // dw = dy^T x, the rows [first, last) of it, the first of them at dw.
  void (*few_rows_grad_kernel)(const FewRows& sizes, const float* dy, const float* x, float* dw, int64_t first,
                               int64_t last);
  /// sum[i] += a[i] b[i], for `count` numbers.
  void (*add_products)(const float* a, const float* b, float* sum, int64_t count);
  // For small_batch.h: the columns [first, last) of y.
  void (*small_batch_dense)(const SmallBatch& product, int64_t first, int64_t last);
};

/// All that this build has and this processor can run, the widest one first; never empty.
std::span<const ProductCode* const> product_codes();
/// The first of them.
inline const ProductCode& product_code() { return *product_codes().front(); }

}  // namespace shoal::backends::portable
