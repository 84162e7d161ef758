// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A layer that turns images into rows.
#include "shoal/graph/graph.h"

namespace shoal::nn {

/// [d0, d1, ..., dn] becomes [d0, d1 * ... * dn]; rank at least 1, [d0] becomes [d0, 1]. Raises InvalidArgument if a size
/// after the first is a symbol.
Value flatten(Value x);

}  // namespace shoal::nn
