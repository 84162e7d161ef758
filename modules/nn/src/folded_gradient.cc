// SPDX-License-Identifier: Apache-2.0
#include "folded_gradient.h"

#include "update_kernels.h"

namespace shoal::nn {

bool is_alone(const Contributions& contributions) {
  return contributions.gradients.size() == 1 && contributions.scales[0] == 1.0f && contributions.factor == 1.0f;
}

const float* gradient_at(const Contributions& contributions, int64_t first, int64_t count, float* room) {
  if (is_alone(contributions)) return contributions.gradients[0] + first;
  kernels::fold_first(count, contributions.scales[0], contributions.gradients[0] + first, room);
  for (size_t i = 1; i < contributions.gradients.size(); ++i) {
    kernels::fold_next(count, contributions.scales[i], contributions.gradients[i] + first, room);
  }
  if (contributions.factor != 1.0f) kernels::multiply(count, contributions.factor, room);
  return room;
}

}  // namespace shoal::nn
