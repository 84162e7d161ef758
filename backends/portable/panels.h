// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Matrix products whose right-hand side is packed once and used many times, or whose sizes are too small for a primitive
/// of oneDNN's to be worth calling: recurrences (the same weights at every step) and attention (one small product per
/// head). A packed matrix is a row of panels of kPanelColumns columns, each contiguous row by row, the last one filled up
/// with zeros.
///
/// Each element is one sum in order of the depth, so its bits depend neither on how rows and columns are divided over
/// threads nor on how many there are, and products and sums are fused on every instruction set.
#include <cstdint>

namespace shoal::backends::portable {

inline constexpr int64_t kPanelColumns = 16;

/// A matrix of floats anywhere: element (row, column) is data[row * row_stride + column * column_stride].
struct Strided {
  const float* data;
  int64_t row_stride;
  int64_t column_stride = 1;
};

inline int64_t panel_count(int64_t columns) { return (columns + kPanelColumns - 1) / kPanelColumns; }
inline int64_t packed_floats(int64_t depth, int64_t columns) { return panel_count(columns) * kPanelColumns * depth; }

/// The panels [first, last) of `factor` times b [depth, columns], at their places in `packed`.
void pack(const Strided& b, int64_t depth, int64_t columns, float factor, float* packed, int64_t first, int64_t last);
inline void pack(const Strided& b, int64_t depth, int64_t columns, float factor, float* packed) {
  pack(b, depth, columns, factor, packed, 0, panel_count(columns));
}

struct PanelProduct {
  Strided a;            ///< [rows, depth]
  const float* packed;  ///< [packed_depth, columns]; its first `depth` rows are used.
  int64_t packed_depth = 0;
  /// If this is not 0, `packed` is not packed: it is a row-major matrix, whose rows are so many floats apart, and c has whole panels
  /// of columns. Where c has few rows, that is faster, because each packed element would be read a few times only.
  int64_t plain_stride = 0;
  float* c;          ///< [rows, columns]; overlaps neither factor.
  int64_t c_stride;  ///< Distance between the rows of c.
  int64_t rows, depth, columns;
  bool accumulate = false;  ///< True for c += rather than c =.
  /// What will be read next, asked for while this is computed: of each of `depth` rows, ahead_stride apart, a line of the
  /// cache for each tile of rows of the product (eight with AVX-512, else six or fewer); with plain_stride from the column on that is
  /// computed. All of it is memory of the caller's; or null.
  const float* ahead = nullptr;
  int64_t ahead_stride = 0;
};
/// c = a b, the columns of the panels [first, last) only.
void multiply(const PanelProduct& product, int64_t first, int64_t last);
/// How many columns of `ahead` a product of so many rows asks for at most.
int64_t columns_ahead(int64_t rows);
inline void multiply(const PanelProduct& product) { multiply(product, 0, panel_count(product.columns)); }

/// What multiply_transposed() packs at a time, in floats.
inline constexpr int64_t kLeftBlockRows = 96;
inline constexpr int64_t kLeftBlockDepth = 256;
inline constexpr int64_t kLeftBlockFloats = kLeftBlockRows * kLeftBlockDepth;
/// Rows [first, last) of c = a b for an a that is the transpose of a row-major matrix (its row_stride is 1), with the bits
/// of multiply(). Blocks of it are packed into `left`, kLeftBlockFloats: without that, each row of a tile's depth is
/// another line of the cache, and with a stride of 4 KiB they push each other out.
void multiply_transposed(const PanelProduct& product, int64_t first, int64_t last, float* left);

}  // namespace shoal::backends::portable
