// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Products of packed panels (panels.h), computed on all threads. The number of threads does not change a bit of the
/// results.
#include "panels.h"

namespace shoal::backends::portable {

/// Packs the factor b [depth, columns] on all threads.
void pack_together(int threads, const Strided& b, int64_t depth, int64_t columns, float* packed);

/// Computes c [rows, columns] = a^T b, for a [depth, rows] and a packed b [depth, columns]. `scratch` has one block for
/// each thread: threads * kLeftBlockFloats.
struct TransposedProduct {
  int threads;
  int64_t rows, depth, columns;
  void run(const float* a, const float* packed, float* c, float* scratch) const;
};

}  // namespace shoal::backends::portable
