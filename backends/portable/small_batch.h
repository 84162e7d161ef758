// SPDX-License-Identifier: Apache-2.0
#pragma once
/// y = x w^T on small batches, from plain weights [out, in]: both factors are read along their rows, so nothing is packed, and w
/// is divided over threads by its rows, as the gradient's product and the update divide it: a core finds in its own cache what it
/// updated before. Sums have 16 lanes, which are joined by a fixed tree (8 lanes where `in` is less than 16).
#include <cstdint>

namespace shoal::backends::portable {

/// Whether the product is one for this loop: with more rows it is worth to pack w.
inline bool small_batch_takes(int64_t rows, int64_t in) { return rows <= 32 && in >= 8; }

/// Row-major: x [rows, in], w [out, in], bias [out] or null, y [rows, out].
struct SmallBatch {
  int64_t rows, out, in;
  const float *x, *w, *bias;
  float* y;
  bool relu;
};

}  // namespace shoal::backends::portable
