// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Functions that layers with weights have in common.
#include <string_view>

#include "shoal/graph/graph.h"
#include "shoal/nn/initializers.h"
#include "shoal/nn/regularizer.h"

namespace shoal::nn {

struct WeightOptions {
  const InitializerSpec& initializer;
  const Regularizer& regularizer;
  bool trainable;
};
/// Adds a float32 variable in the current scope, and its regularization penalty. `fans` are those of the layer's kernel,
/// even if the variable is the layer's bias.
Value add_weight(Graph& graph, std::string_view name, const Shape& shape, Fans fans, const WeightOptions& options);

/// Makes each step set `variable` to decay * variable + (1 - decay) * value. If shared layers are called more than once,
/// all calls contribute, in the order of the calls.
void keep_moving_average(Value variable, Value value, double decay);

/// Raises InvalidArgument unless x is a float32 value of this rank. `shape` describes what is expected: "[batch, inputs]".
void check_input(std::string_view layer, Value x, int rank, std::string_view shape);
/// Like check_input(), but accepts all ranks from `rank` on.
void check_rank_min(std::string_view layer, Value x, int rank, std::string_view shape);
/// Returns the size of an axis; raises InvalidArgument if the size is a symbol.
int64_t fixed_size(std::string_view layer, Value x, int axis);
/// Returns factor * value, both >= 0; raises InvalidArgument, with the name of the option that has the value, if no int64_t
/// holds it. (The graph refuses products that an int64_t holds and that are too large for a variable.)
int64_t multiple(std::string_view layer, std::string_view option, int64_t factor, int64_t value);
/// Raises InvalidArgument unless value >= 1.
void check_positive(std::string_view layer, std::string_view option, int64_t value);

}  // namespace shoal::nn
