// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Computes an update, in the same way for servers, local training and fused kernels: equal inputs give equal bits.
#include <cstdint>
#include <span>

#include "shoal/nn/update_rule.h"

namespace shoal::nn {

/// The gradients that one update combines: the sum over i, in order, of scales[i] * gradients[i][k], times `factor`. With a
/// single gradient, scale 1 and factor 1 the result is that gradient, bit for bit.
struct Contributions {
  std::span<const float* const> gradients;
  std::span<const float> scales;
  float factor = 1.0f;
};

/// Computes next[k] and slots[s][k] from current[k], the slots and the contributions, in one fused pass over `count`
/// elements. `next` may be `current`. `update_count`: the number of updates of this variable so far, this one included
/// (Adam's t, from 1). Vectorised. Elements are independent unless needs_whole_variable(), so any division among threads
/// gives the same bits. LAMB makes two passes, since the length of its step depends on the norms of the variable and of the
/// step. Returns whether everything that it wrote, to the variable and to its slots, is finite. The pass checks while it
/// writes, since another pass over a gradient would cost 6 to 9% of a small model's step. The rule kNone writes nothing and
/// returns true.
bool apply_update(const UpdateRule& rule, double learning_rate, uint64_t update_count, int64_t count, const float* current,
                  float* next, std::span<float* const> slots, const Contributions& contributions);

}  // namespace shoal::nn
