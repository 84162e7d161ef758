// SPDX-License-Identifier: Apache-2.0
#include "matrix.h"

#include <algorithm>

#include "passes.h"
#include "products.h"
#include "threads.h"

namespace shoal::backends::portable {
namespace {

// The size of the part of b that a thread packs for itself at a time: two panels, which stay in the first-level cache.
constexpr int64_t kDepthTogether = 128, kColumnsTogether = 2 * kPanelColumns;
constexpr size_t kPanelsBytes = size_t(kDepthTogether * kColumnsTogether) * sizeof(float);
// If c has more rows than this, it is faster to pack all of b once, and to let threads divide the rows of c.
constexpr int64_t kFewRowsMax = 192;
constexpr int64_t kTileRows = 8;

/// Divides `count` rows or columns into parts of equal size, a multiple of `together`, and returns that size. Several
/// threads get three parts each, so that a slower core delays no other thread. A single thread gets everything as one part.
int64_t part_of(int64_t count, int threads, int64_t together) {
  const int64_t shares = threads == 1 ? 1 : int64_t(3) * threads;
  return rounded_up((count + shares - 1) / shares, together);
}

}  // namespace

bool MatrixPlan::divides_rows() const { return rows_ > kFewRowsMax || a_transposed_; }

size_t MatrixPlan::shared_bytes() const {
  return divides_rows() ? size_t(packed_floats(depth_, columns_)) * sizeof(float) : 0;
}

size_t MatrixPlan::own_bytes() const {
  if (!divides_rows()) return kPanelsBytes;
  return a_transposed_ ? size_t(kLeftBlockFloats) * sizeof(float) : 0;
}

void MatrixPlan::run(const Operands& operands, std::byte* shared, ThreadScratch own) const {
  divides_rows() ? by_rows(operands, reinterpret_cast<float*>(shared), own) : by_columns(operands, own);
}

void MatrixPlan::by_rows(const Operands& operands, float* packed, ThreadScratch own) const {
  pack_together(threads_, operands.b, depth_, columns_, packed);
  const int64_t together = std::clamp(part_of(rows_, threads_, kTileRows), kTileRows, kLeftBlockRows);
  const PanelProduct whole{.a = operands.a,
                           .packed = packed,
                           .c = operands.c,
                           .c_stride = operands.c_stride,
                           .rows = rows_,
                           .depth = depth_,
                           .columns = columns_};
  parallel_chunks(threads_, rows_, together, product_bytes(rows_, depth_, columns_), [&](int thread, Chunks& chunks) {
    for (int64_t first, last; chunks.next(first, last);) {
      if (a_transposed_) {
        multiply_transposed(whole, first, last, reinterpret_cast<float*>(own.of(thread)));
      } else {
        PanelProduct part = whole;
        part.a.data += first * part.a.row_stride;
        part.c += first * part.c_stride;
        part.rows = last - first;
        multiply(part);
      }
      finish_rows(operands.c + first * operands.c_stride, operands.c_stride, last - first, columns_, operands.bias,
                  operands.relu);
    }
  });
}

void MatrixPlan::by_columns(const Operands& operands, ThreadScratch own) const {
  const int64_t together = part_of(columns_, threads_, kColumnsTogether);
  parallel_chunks(threads_, columns_, together, product_bytes(rows_, depth_, columns_), [&](int thread, Chunks& chunks) {
    for (int64_t first, last; chunks.next(first, last);) {
      multiply_columns(operands, first, last, reinterpret_cast<float*>(own.of(thread)));
      finish_rows(operands.c + first, operands.c_stride, rows_, last - first,
                  operands.bias ? operands.bias + first : nullptr, operands.relu);
    }
  });
}

/// Computes the columns [first, last) of c, without the bias.
void MatrixPlan::multiply_columns(const Operands& operands, int64_t first, int64_t last, float* panels) const {
  const Strided &a = operands.a, &b = operands.b;
  const int64_t ahead = columns_ahead(rows_);
  for (int64_t k = 0; k < depth_; k += kDepthTogether) {
    const int64_t depth = std::min(kDepthTogether, depth_ - k);
    for (int64_t column = first; column < last; column += kColumnsTogether) {
      const int64_t columns = std::min(kColumnsTogether, last - column), next = column + kColumnsTogether;
      const float* const from = b.data + k * b.row_stride;
      pack({from + column * b.column_stride, b.row_stride, b.column_stride}, depth, columns, 1.0f, panels);
      multiply({.a = {a.data + k * a.column_stride, a.row_stride, a.column_stride},
                .packed = panels,
                .c = operands.c + column,
                .c_stride = operands.c_stride,
                .rows = rows_,
                .depth = depth,
                .columns = columns,
                .accumulate = k > 0,
                .ahead = b.column_stride == 1 && next + ahead <= last ? from + next : nullptr,
                .ahead_stride = b.row_stride});
    }
  }
}

}  // namespace shoal::backends::portable
