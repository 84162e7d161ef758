// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Computes the gradient for an update: the left fold over the gradients of all contributors.
#include <cstdint>

#include "shoal/nn/apply_update.h"

namespace shoal::nn {

/// The number of elements that are folded at a time: small enough for the first-level cache, so memory is still passed only
/// once.
inline constexpr int64_t kFoldElements = 2048;

/// Whether there is a single gradient that is used unchanged.
bool is_alone(const Contributions& contributions);

/// The gradient of elements [first, first + count), at most kFoldElements. It is folded into `room`, unless it is alone.
const float* gradient_at(const Contributions& contributions, int64_t first, int64_t count, float* room);

}  // namespace shoal::nn
