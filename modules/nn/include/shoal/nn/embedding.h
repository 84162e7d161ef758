// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A learned vector for each id.
#include <cstdint>
#include <optional>
#include <string>

#include "shoal/graph/graph.h"
#include "shoal/nn/initializers.h"

namespace shoal::nn {

struct EmbeddingOptions {
  int64_t ids = 0;        ///< The number of ids, which lie in [0, ids). At least 1. There is no default.
  int64_t dimension = 0;  ///< The size of each vector, >= 1. There is no default.
  /// Nothing: a truncated normal with standard deviation 1 / sqrt(dimension).
  std::optional<InitializerSpec> initializer = std::nullopt;
  bool trainable = true;
  std::string name = "embedding";  ///< The scope of the variable; a second layer gets "embedding_1".
};

/// Looks up the vectors of these ids.
///
///   ids      [i...]             int64 or int32, each in [0, options.ids)
///   returns  [i..., dimension]  float32
///
/// Adds the variable "<name>/table" [ids, dimension]. If the loss depends on it through lookups alone, a step updates, and
/// costs, only the rows that its batch uses (VariableUpdate::rows). So a table has no regularizer, which would change every
/// row. An id out of range ends the step with InvalidArgument, which names row and value. Raises InvalidArgument if `ids`
/// are not integers or an option is out of range.
Value embedding(Value ids, const EmbeddingOptions& options);

}  // namespace shoal::nn
