// SPDX-License-Identifier: Apache-2.0
#pragma once
/// y = x w^T on small batches, from plain weights [out, in]: both factors are read along their rows, so nothing is packed
/// (oneDNN packs w anew at each call), and w is divided over threads by its rows, as the gradient's product and the update
/// divide it: a core finds in its own cache what it updated before. Bits do not depend on threads; they do on `wide`, and
/// on whether the instruction set fuses multiplications and additions.
#include <cstdint>

namespace shoal::backends::onednn {

/// Whether the product is one for this loop: with more rows oneDNN's packing is worth its time.
inline bool small_batch_takes(int64_t rows, int64_t in) { return rows <= 32 && in >= 8; }

/// Row-major: x [rows, in], w [out, in], bias [out] or null, y [rows, out].
struct SmallBatch {
  int64_t rows, out, in;
  const float *x, *w, *bias;
  float* y;
  bool relu;
  bool wide;  ///< Sums have 16 lanes rather than 8, which takes has_wide_loops().
};

/// The columns [first, last) of y.
void small_batch_dense(const SmallBatch& product, int64_t first, int64_t last);

}  // namespace shoal::backends::onednn
