// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Matrix products. Included by ops.h, whose first comment holds here too.
#include <string_view>

#include "shoal/graph/graph.h"

namespace shoal::ops {

struct MatmulOptions {
  bool transpose_a = false;  ///< True: a is [..., K, M].
  bool transpose_b = false;  ///< True: b is [..., N, K].
};
/// The product of matrices, or of each pair in two batches of them.
///
///   a        [..., M, K]  float32
///   b        [..., K, N]  float32
///   returns  [..., M, N]  float32
///
/// The leading sizes of a and b are equal; or one of the two is a single matrix, which every matrix of the other meets.
Value matmul(Value a, Value b, const MatmulOptions& options = {}, std::string_view name = "");

}  // namespace shoal::ops
