// SPDX-License-Identifier: Apache-2.0
#pragma once
/// y = x w^T for small batches, from plain weights [out, in]. Both factors are read along their rows, so nothing is packed.
/// Threads divide w by its rows, like the gradient's product and the update of w, so that a core finds in its own cache the
/// rows that it has updated before. Sums have 16 lanes, which are joined by a fixed tree (8 lanes if `in` is less than 16).
#include <cstdint>

namespace shoal::backends::portable {

/// True if this loop should compute the product: with more rows packing w is faster.
inline bool small_batch_takes(int64_t rows, int64_t in) { return rows <= 32 && in >= 8; }

/// Row-major: x [rows, in], w [out, in], bias [out] or null, y [rows, out].
struct SmallBatch {
  int64_t rows, out, in;
  const float *x, *w, *bias;
  float* y;
  bool relu;
};

}  // namespace shoal::backends::portable
