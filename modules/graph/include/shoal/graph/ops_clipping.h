// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ops for gradient clipping. Included by shoal/graph/ops.h.
#include <string_view>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::ops {

/// Sets elements of x below `low` to `low` and those above `high` to `high`. NaN stays NaN. x is float32 of any shape. The
/// gradient passes where low <= x <= high. Raises InvalidArgument unless low <= high, which also excludes NaN.
Value clip(Value x, double low, double high, std::string_view name = "");

/// The Euclidean norm of all elements of all `values` together: sqrt(sum of squares), a float32 scalar. Sums are taken in
/// double, so the norm is infinite only if it exceeds float32. There may be 1 to 65,536 values, float32 of any shapes. The
/// gradient is value / norm, and 0 if the norm is 0.
Value global_norm(const std::vector<Value>& values, std::string_view name = "");

}  // namespace shoal::ops
