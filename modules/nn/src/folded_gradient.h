// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Computes the gradient for an update: the left fold over the gradients of all contributors.
#include <cstdint>

#include "shoal/nn/apply_update.h"

namespace shoal::nn {

/// The number of elements that are folded at a time: few enough for the first-level cache, so that each gradient is
/// still read from memory only once.
inline constexpr int64_t kFoldElements = 2048;

/// True if there is only one gradient and it is used unchanged.
bool is_alone(const Contributions& contributions);

/// Returns the gradient of elements [first, first + count), at most kFoldElements. The sum over several contributors is
/// written to `room`; a single gradient (is_alone()) is returned without a copy.
const float* gradient_at(const Contributions& contributions, int64_t first, int64_t count, float* room);

}  // namespace shoal::nn
