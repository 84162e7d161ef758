// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The one update expression, for servers, local training and fused kernels alike: same inputs, same bits.
#include <cstdint>
#include <span>

#include "shoal/nn/update_rule.h"

namespace shoal::nn {

/// The gradients that one update combines: sum over i, in order, of scales[i] * gradients[i][k], times `factor`. One
/// contributor with scale 1 and factor 1 is its gradient, bit for bit.
struct Contributions {
  std::span<const float* const> gradients;
  std::span<const float> scales;
  float factor = 1.0f;
};

/// One fused pass over `count` elements: next[k] and slots[s][k] from current[k], slots, contributions. `next` may be
/// `current`. `update_count`: updates applied to this variable so far, this one included (Adam's t, from 1).
/// Vectorised; elements are independent unless needs_whole_variable(), so any split over threads gives the same bits. LAMB
/// passes twice: its step's length follows from the norms of the variable and of the step.
/// Returns whether all that it wrote, of the variable and of its slots, is finite: the pass looks while it writes, since
/// another pass over a gradient would cost 6 to 9% of a small model's step. The rule kNone writes nothing new: true.
bool apply_update(const UpdateRule& rule, double learning_rate, uint64_t update_count, int64_t count, const float* current,
                  float* next, std::span<float* const> slots, const Contributions& contributions);

}  // namespace shoal::nn
