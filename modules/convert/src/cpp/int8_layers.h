// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The weights of a layer in eight bits.
#include <cstdint>
#include <span>
#include <vector>

#include "cpp/int8_plan.h"
#include "cpp/weight_arrays.h"
#include "shoal/base/result.h"

namespace shoal::convert::cpp {

/// Weights in eight bits. For each channel the layer computes an integer, bias + x w. This integer, times the channel's
/// factor, is the result as a real number.
struct Int8Weights {
  std::vector<int8_t> weights;  ///< [out][...], channels last.
  std::vector<int32_t> bias;    ///< Includes the correction for the zero point of x.
  std::vector<float> factors;
  std::vector<int32_t> multipliers;  ///< For each channel: multiplier / 2^shift = factor / (the scale of the result).
  std::vector<uint8_t> shifts;
};

/// Folds the normalization of a layer into its weights, and rounds the weights symmetrically, with a scale for each
/// output channel. `result` is the scale of the layer's result. InvalidArgument, naming the layer, if a channel's factor is
/// beyond float32, since the layer would then compute NaN.
Result<Int8Weights> int8_weights(const Graph& graph, const Int8Layer& layer, const WeightArrays& values, const Int8Scale& x,
                                 const Int8Scale& result);

}  // namespace shoal::convert::cpp
