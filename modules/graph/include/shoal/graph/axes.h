// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which axes a reduction takes away.
#include <cstdint>
#include <vector>

#include "shoal/graph/attributes.h"

namespace shoal {

/// Attribute "axes" of a reduction or of its gradient, ascending; all axes of a tensor of this rank where there is none.
std::vector<int64_t> reduced_axes(const Attributes& attributes, int rank);

}  // namespace shoal
