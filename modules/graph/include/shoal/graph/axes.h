// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The axes that a reduction removes.
#include <cstdint>
#include <vector>

#include "shoal/graph/attributes.h"

namespace shoal {

/// The attribute "axes" of a reduction or of its gradient, ascending; all axes of a tensor with this rank if there is no
/// attribute.
std::vector<int64_t> reduced_axes(const Attributes& attributes, int rank);

}  // namespace shoal
