// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The gradient that an update takes: what all contributors pushed, folded from the left.
#include <cstdint>

#include "shoal/nn/apply_update.h"

namespace shoal::nn {

/// Elements that are folded at a time: the sum stays in the first-level cache, so memory is still passed once.
inline constexpr int64_t kFoldElements = 2048;

/// One gradient, to be taken as it is.
bool is_alone(const Contributions& contributions);

/// The gradient of elements [first, first + count), at most kFoldElements; folded into `room` unless it is alone.
const float* gradient_at(const Contributions& contributions, int64_t first, int64_t count, float* room);

}  // namespace shoal::nn
