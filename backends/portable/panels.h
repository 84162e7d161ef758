// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Matrix products whose right factor is packed once and used many times, or whose sizes are too small for a oneDNN
/// primitive to be worth calling: recurrences (the same weights at every step) and attention (one small product per head).
/// A packed matrix is a row of panels with kPanelColumns columns each. A panel is contiguous, row by row; the last one is
/// padded with zeros.
///
/// Each element is one sum in the order of the depth, so its bits depend neither on how rows and columns are divided among
/// threads nor on the number of threads; products and sums are fused on every instruction set.
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
  Strided a;            ///< [rows, depth]
  const float* packed;  ///< [packed_depth, columns]; its first `depth` rows are used.
  int64_t packed_depth = 0;
  /// If not 0, `packed` is not packed: it is a row-major matrix whose rows are this many floats apart, and c has only whole
  /// panels of columns. That is faster if c has few rows, since each packed element would be read only a few times.
  int64_t plain_stride = 0;
  float* c;          ///< [rows, columns]; overlaps neither factor.
  int64_t c_stride;  ///< Distance between the rows of c.
  int64_t rows, depth, columns;
  bool accumulate = false;  ///< True for c +=, false for c =.
  /// Memory that is needed next, to be prefetched during the product: `depth` rows, ahead_stride apart. For each tile of
  /// rows (eight rows with AVX-512, else six or fewer) and each depth, one cache line is prefetched; if plain_stride is
  /// set, from the present column on. The caller must own all of this memory. Null: nothing is prefetched.
  const float* ahead = nullptr;
  int64_t ahead_stride = 0;
};
/// Computes c = a b, only the columns of the panels [first, last).
void multiply(const PanelProduct& product, int64_t first, int64_t last);
/// The largest number of columns of `ahead` that a product with this many rows prefetches.
int64_t columns_ahead(int64_t rows);
inline void multiply(const PanelProduct& product) { multiply(product, 0, panel_count(product.columns)); }

/// The size of the blocks that multiply_transposed() packs, in floats.
inline constexpr int64_t kLeftBlockRows = 96;
inline constexpr int64_t kLeftBlockDepth = 256;
inline constexpr int64_t kLeftBlockFloats = kLeftBlockRows * kLeftBlockDepth;
/// Computes rows [first, last) of c = a b for an a that is the transpose of a row-major matrix (its row_stride is 1), with
/// the bits of multiply(). Blocks of a are packed into `left`, room for kLeftBlockFloats floats: without that, each row of
/// a tile's depth would lie on another cache line, and with a stride of 4 KiB these lines evict each other.
void multiply_transposed(const PanelProduct& product, int64_t first, int64_t last, float* left);

}  // namespace shoal::backends::portable
