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
  int64_t ids = 0;        ///< How many there are: ids lie in [0, ids). A number >= 1 without a default.
  int64_t dimension = 0;  ///< The size of each vector, >= 1. It has no default.
  /// None: a truncated normal of standard deviation 1 / sqrt(dimension).
  std::optional<InitializerSpec> initializer = std::nullopt;
  bool trainable = true;
  std::string name = "embedding";  ///< The scope of the variable; a second one becomes "embedding_1".
};

/// The vectors of these ids.
///
///   ids      [i...]             int64 or int32, each in [0, options.ids)
///   returns  [i..., dimension]  float32
///
/// Adds variable "<name>/table" [ids, dimension]. If the loss depends on it through lookups alone, a step updates the rows
/// that its batch names and costs those only (VariableUpdate::rows); so a table has no regularizer, which would touch every
/// row. An id out of range ends the step with InvalidArgument, naming row and value. Raises InvalidArgument if `ids` is no
/// integer or an option is out of range.
Value embedding(Value ids, const EmbeddingOptions& options);

}  // namespace shoal::nn
