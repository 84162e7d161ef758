// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/embedding.h"

#include <cmath>

#include "layers.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {

Value embedding(Value ids, const EmbeddingOptions& options) {
  if (!ids.valid()) raise(invalid_argument(options.name + ": the input is no value of a graph"));
  if (ids.dtype() != DType::kInt64 && ids.dtype() != DType::kInt32) {
    raise(invalid_argument(options.name + ": expected int64 or int32 ids, got " + std::string(to_string(ids.dtype())) +
                           "; cast them first"));
  }
  check_positive(options.name, "ids", options.ids);
  check_positive(options.name, "dimension", options.dimension);
  const Shape shape{options.ids, options.dimension};
  const InitializerSpec initializer =
      options.initializer.value_or(truncated_normal(0, 1 / std::sqrt(double(options.dimension))));
  const auto scope = ids.graph().scope(options.name);
  const Value table = add_weight(ids.graph(), "table", shape, fans_of(shape), {initializer, {}, options.trainable});
  return ops::embedding_lookup(table, ids);
}

}  // namespace shoal::nn
