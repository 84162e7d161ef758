// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/cost.h"

#include <algorithm>
#include <cmath>

namespace shoal {

NodeCost cost_of(const OpDef& op, const Attributes& attributes, std::span<const TensorView> inputs,
                 std::span<const TensorView> outputs) {
  NodeCost cost;
  if (op.view) return cost;
  for (const TensorView& output : outputs) {
    cost.flops = std::max(cost.flops, double(output.elements()));
    cost.bytes += double(output.bytes());
  }
  const double written = cost.bytes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (op.is_shape_only(int(i))) continue;
    const bool part = i == 0 && op.reads_a_part;
    cost.bytes += part ? std::min(written, double(inputs[i].bytes())) : double(inputs[i].bytes());
    if (!part) cost.flops = std::max(cost.flops, double(inputs[i].elements()));
  }
  if (!op.multiply_adds) return cost;
  // A user's own op may supply this function, so its result may be any number.
  const double flops = 2 * op.multiply_adds(attributes, inputs, outputs);
  if (std::isfinite(flops) && flops >= 0) cost.flops = flops;
  return cost;
}

}  // namespace shoal
