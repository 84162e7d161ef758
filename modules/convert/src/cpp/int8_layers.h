// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The weights of a layer in eight bits.
#include <cstdint>
#include <span>
#include <vector>

#include "cpp/int8_plan.h"
#include "cpp/weight_arrays.h"

namespace shoal::convert::cpp {

/// Sums of products, as integers: sum = bias + x w, whose real number is sum * factor of its channel.
struct Int8Weights {
  std::vector<int8_t> weights;  ///< [out][...], channels last.
  std::vector<int32_t> bias;  ///< The bias, which accounts for the zero point of x.
  std::vector<float> factors;
  std::vector<int32_t> multipliers;  ///< factors / scale of the result, as multiplier / 2^shift.
  std::vector<uint8_t> shifts;
};

/// Folds the normalization of a layer into its weights, and rounds these symmetrically, each output channel for itself. `result` is
/// the scale of what the layer writes.
Int8Weights int8_weights(const Graph& graph, const Int8Layer& layer, const WeightArrays& values, const Int8Scale& x,
                         const Int8Scale& result);

}  // namespace shoal::convert::cpp
