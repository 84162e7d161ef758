// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Matrix products whose right factor is packed once and used many times, as in recurrent layers (the same weights at every
/// step), or whose sizes are too small to be worth the call of a oneDNN primitive, as in attention (one small product per
/// head). A packed matrix is divided into panels of kPanelColumns columns. A panel is contiguous, row by row; the last one
/// is padded with zeros.
///
/// Each element of a result is one sum, in the order of the rows of the packed matrix. So its bits depend neither on the
/// number of threads nor on how threads divide rows and columns. Products and sums are fused on every instruction set.
#include <cstdint>

namespace shoal::backends::portable {

inline constexpr int64_t kPanelColumns = 16;

/// A matrix of floats with any strides: element (row, column) is data[row * row_stride + column * column_stride].
struct Strided {
  const float* data;
  int64_t row_stride;
  int64_t column_stride = 1;
};

inline int64_t panel_count(int64_t columns) { return (columns + kPanelColumns - 1) / kPanelColumns; }
inline int64_t packed_floats(int64_t depth, int64_t columns) { return panel_count(columns) * kPanelColumns * depth; }

/// Packs the panels [first, last) of `factor` times b [depth, columns], at their places in `packed`.
void pack(const Strided& b, int64_t depth, int64_t columns, float factor, float* packed, int64_t first, int64_t last);
inline void pack(const Strided& b, int64_t depth, int64_t columns, float factor, float* packed) {
  pack(b, depth, columns, factor, packed, 0, panel_count(columns));
}

struct PanelProduct {
  Strided a;                 ///< [rows, depth], the columns of the first run.
  const float* packed;       ///< [packed_depth, columns]; its first runs * depth rows are used.
  int64_t packed_depth = 0;  ///< 0 stands for runs * depth.
  /// If not 0, `packed` points to a row-major matrix that is not packed, and this is the distance between its rows in
  /// floats. The number of columns of c must then be a multiple of kPanelColumns. This is faster if c has few rows: packing
  /// is not worth its cost if each packed element is read only a few times.
  int64_t plain_stride = 0;
  float* c;          ///< [rows, columns]; overlaps neither factor.
  int64_t c_stride;  ///< Distance between the rows of c.
  int64_t rows, depth, columns;
  /// `a` may consist of several runs of `depth` columns each, as the windows of an image do that lie on several of its
  /// rows. Each run begins run_stride floats after the previous one, and is multiplied by the next `depth` rows of the
  /// packed matrix. All runs belong to one sum.
  int64_t runs = 1, run_stride = 0;
  bool accumulate = false;  ///< True for c +=, false for c =.
  /// Memory that the caller needs next, to be prefetched during the product: a row for each row of the packed matrix,
  /// ahead_stride floats apart. The rows of c are computed in tiles (of eight rows with AVX-512, else of six or fewer). Each
  /// tile prefetches one cache line of each of these rows. If plain_stride is set, these cache lines begin at the column of
  /// c that is being computed. The caller must own all of this memory. Null: nothing is prefetched.
  const float* ahead = nullptr;
  int64_t ahead_stride = 0;
};
/// Computes those columns of c = a b that belong to the panels [first, last) of b.
void multiply(const PanelProduct& product, int64_t first, int64_t last);
/// A product prefetches columns of PanelProduct::ahead. Returns their largest possible number for a product with this
/// many rows.
int64_t columns_ahead(int64_t rows);
inline void multiply(const PanelProduct& product) { multiply(product, 0, panel_count(product.columns)); }

/// multiply_transposed() packs its matrix `a` in blocks of this size: rows, columns, and floats in all.
inline constexpr int64_t kLeftBlockRows = 96;
inline constexpr int64_t kLeftBlockDepth = 256;
inline constexpr int64_t kLeftBlockFloats = kLeftBlockRows * kLeftBlockDepth;
/// Computes rows [first, last) of c = a b for an `a` that is the transpose of a row-major matrix (its row_stride is 1) and
/// has one run. The bits are those of multiply(). Packs blocks of `a` into `left`, which has room for kLeftBlockFloats
/// floats. Without packing, the elements that a tile reads one after the other would lie on different cache lines, and with
/// a stride of 4 KiB these lines evict each other.
void multiply_transposed(const PanelProduct& product, int64_t first, int64_t last, float* left);

}  // namespace shoal::backends::portable
