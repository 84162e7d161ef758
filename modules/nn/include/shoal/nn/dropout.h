// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Dropout. Source: Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting" (JMLR 2014).
#include <string>

#include "shoal/graph/graph.h"
#include "shoal/nn/mode.h"

namespace shoal::nn {

struct DropoutOptions {
  double rate = 0.5;  ///< The fraction of the elements that are set to 0, in [0, 1).
  std::string name = "dropout";
};

/// In training, sets each element to 0 with probability `rate` and divides the others by 1 - rate; otherwise returns x
/// itself. The mask depends only on the graph's seed, the node's name, the trainer and the batch ordinal: equal on every
/// backend and after every restart. Raises InvalidArgument if rate is outside [0, 1).
Value dropout(Value x, Mode mode, const DropoutOptions& options = {});

}  // namespace shoal::nn
