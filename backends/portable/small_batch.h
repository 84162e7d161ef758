// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Computes y = x w^T for small batches. Rows of x are multiplied by rows of w [out, in], so neither has to be packed. The
/// rows of w are divided among the threads. The product for the gradient and the update of w divide these rows in the same
/// way, so that a core finds in its own cache the rows that it has updated before. A sum has 16 lanes (partial sums; 8 if
/// `in` is less than 16), which a fixed tree adds up.
#include <cstdint>

namespace shoal::backends::portable {

/// Returns whether the code for small batches should compute the product. For more rows of x it is faster to pack w.
inline bool small_batch_takes(int64_t rows, int64_t in) { return rows <= 32 && in >= 8; }

/// Row-major: x [rows, in], w [out, in], bias [out] or null, y [rows, out].
struct SmallBatch {
  int64_t rows, out, in;
  const float *x, *w, *bias;
  float* y;
  bool relu;
};

}  // namespace shoal::backends::portable
