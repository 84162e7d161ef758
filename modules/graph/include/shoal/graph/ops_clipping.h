// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What gradient clipping is made of. Included by shoal/graph/ops.h.
#include <string_view>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::ops {

/// Elements below `low` become `low`, those above `high` become `high`, NaN stays; float32 of any shape. The gradient
/// passes where low <= x <= high. Raises InvalidArgument unless low <= high (neither is NaN).
Value clip(Value x, double low, double high, std::string_view name = "");

/// The Euclidean norm of all elements of all `values` together: sqrt(sum of squares), a float32 scalar. Sums are taken in
/// double, so only a norm that float32 cannot hold is infinite. Values are float32 of any shapes, 1 to 65,536 of them. The
/// gradient is value / norm; 0 where the norm is 0.
Value global_norm(const std::vector<Value>& values, std::string_view name = "");

}  // namespace shoal::ops
