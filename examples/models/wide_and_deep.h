// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Wide and deep: a linear model, which memorizes single values, plus a network over embeddings, which generalizes.
/// Source: Cheng et al., "Wide & deep learning for recommender systems" (2016).
#include <cstdint>
#include <vector>

#include "shoal/graph/graph.h"

namespace models {

struct WideAndDeepOptions {
  int64_t ids = 10000;                        ///< The number of different ids in each column of ids.
  int64_t dimension = 16;                     ///< The size of each embedding.
  std::vector<int64_t> hidden{256, 128, 64};  ///< The number of units of each hidden layer.
  bool wide = true;                           ///< False: the model consists of the deep part alone.
};

/// Returns one logit for each example.
///
///   ids      [batch, columns]  int64, each in [0, options.ids); each column has its own tables
///   numbers  [batch, n]        float32, roughly between -1 and 1
///   returns  [batch, 1]        float32
shoal::Value wide_and_deep(shoal::Value ids, shoal::Value numbers, const WideAndDeepOptions& options);

}  // namespace models
