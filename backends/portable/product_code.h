// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The inner loops of all products, compiled once for each instruction set. Each version is a file with its own flags
/// (products_avx2.cc, ...), and the program uses the widest one that its processor supports. All of them compute the same
/// bits.
#include <cstdint>
#include <span>

#include "few_rows.h"
#include "small_batch.h"

namespace shoal::backends::portable {

/// A tile of the result c = a b: some of its rows, and the columns of one or two panels (panels.h).
struct PanelTile {
  const float* a;
  int64_t a_row_stride, a_column_stride;
  bool left_packed;  ///< True if a is packed as a row of tiles, each of them [depth, rows of the tile].
  const float* panel;
  int64_t panel_stride;      ///< The distance from a panel to the next one.
  int64_t panel_row_stride;  ///< The distance between the rows of a panel; more than its width if not packed.
  int64_t depth;             ///< The number of columns in one run of `a`.
  int64_t runs, run_stride;  ///< See PanelProduct. If left_packed, there is one run.
  float* c;
  int64_t c_stride;
  int64_t columns;
  bool accumulate;
  const float* ahead;  ///< Null, or memory to prefetch: a row for each row of the panel, one cache line of each.
  int64_t ahead_stride;
};

struct ProductCode {
  const char* name;
  int64_t panels_together;  ///< The largest width of a tile, in panels.
  /// c = a b, or c += a b, for `rows` rows.
  void (*multiply_rows)(const PanelTile& tile, int64_t rows);
  /// Packs `rows` rows of a matrix that is stored transposed, as `depth` arrays of `rows` elements each. The first array
  /// begins at `a`, and each other one `stride` elements after the previous one. The packed rows form tiles of the sizes
  /// that multiply_rows() uses.
  void (*pack_left)(const float* a, int64_t stride, int64_t depth, int64_t rows, float* left);
  // Used by few_rows.h: computes columns [first, last) of y = x w^T + bias; a null bias adds nothing.
  void (*few_rows_dense)(const FewRows& sizes, const float* x, const float* w, const float* bias, float* y, int64_t first,
                         int64_t last);
  // Used by few_rows.h: computes partial [rows, in] = dy w, summed only over the rows [first, last) of w.
  void (*few_rows_grad_input)(const FewRows& sizes, const float* dy, const float* w, float* partial, int64_t first,
                              int64_t last);
  // Used by few_rows.h: computes rows [first, last) of dw = dy^T x; row `first` is written to dw[0].
  void (*few_rows_grad_kernel)(const FewRows& sizes, const float* dy, const float* x, float* dw, int64_t first,
                               int64_t last);
  /// sum[i] += a[i] b[i], for `count` numbers.
  void (*add_products)(const float* a, const float* b, float* sum, int64_t count);
  // Used by small_batch.h: computes the columns [first, last) of y.
  void (*small_batch_dense)(const SmallBatch& product, int64_t first, int64_t last);
};

/// Returns all versions in this build that this processor can run, the widest first; never empty.
std::span<const ProductCode* const> product_codes();
/// The version with the widest vectors that this processor can run.
inline const ProductCode& product_code() { return *product_codes().front(); }

}  // namespace shoal::backends::portable
