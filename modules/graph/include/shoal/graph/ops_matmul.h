// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Matrix products. Included by ops.h, whose first comment applies here too.
#include <string_view>

#include "shoal/graph/graph.h"

namespace shoal::ops {

struct MatmulOptions {
  bool transpose_a = false;  ///< True: a is [..., K, M].
  bool transpose_b = false;  ///< True: b is [..., N, K].
};
/// The product of two matrices, or of each pair of matrices in two batches.
///
///   a        [..., M, K]  float32
///   b        [..., K, N]  float32
///   returns  [..., M, N]  float32
///
/// The leading sizes of a and b are equal, or one of the two is a single matrix, which is multiplied with every matrix of
/// the other.
Value matmul(Value a, Value b, const MatmulOptions& options = {}, std::string_view name = "");

}  // namespace shoal::ops
