// SPDX-License-Identifier: Apache-2.0
#include "layers.h"

#include <algorithm>
#include <string>

#include "shoal/graph/ops.h"

namespace shoal::nn {

Value add_weight(Graph& graph, std::string_view name, const Shape& shape, Fans fans, const WeightOptions& options) {
  const Initializer initializer = options.initializer.resolve(fans, shape);
  if (auto valid = validate(initializer); !valid) raise(std::move(valid).error().with_context(name));
  const Value weight = graph.variable(name, shape, {.initializer = initializer, .trainable = options.trainable});
  // In a scope that uses existing weights (finds_variables()), their penalty was added when they were made.
  if (!graph.finds_variables()) regularize(weight, options.regularizer);
  return weight;
}

/// Adds an update of a moving average to the step. If the step already has an update of the same average (from another call
/// of a shared layer), replaces both by one update: two updates in a row, with decays d and e, equal one update with decay
/// d * e and a weighted mean of both values.
void keep_moving_average(Value variable, Value value, double decay) {
  std::vector<MovingAverage>& all = variable.graph().moving_averages();
  const auto before = std::find_if(all.begin(), all.end(), [&](const MovingAverage& a) { return a.variable == variable; });
  if (before == all.end()) {
    all.push_back({.variable = variable, .value = value, .decay = decay});
    return;
  }
  const double both = before->decay * decay;
  if (both == 1) return;  // Both decays are 1, so neither of the two updates changes the average.
  const double share = (1 - decay) / (1 - both);
  before->value = ops::add(ops::scale(before->value, 1 - share), ops::scale(value, share));
  before->decay = both;
}

namespace {

void check_float_input(const std::string& who, Value x, bool rank_fits, std::string_view shape) {
  if (!rank_fits) {
    raise(invalid_argument(who + ": expected an input of shape " + std::string(shape) + ", got " + to_string(x.shape())));
  }
  if (x.dtype() != DType::kFloat32) {
    raise(
        invalid_argument(who + ": expected a float32 input, got " + std::string(to_string(x.dtype())) + "; cast it first"));
  }
}

void check_valid(const std::string& who, Value x) {
  if (!x.valid()) raise(invalid_argument(who + ": the input is no value of a graph"));
}

}  // namespace

void check_input(std::string_view layer, Value x, int rank, std::string_view shape) {
  const std::string who(layer);
  check_valid(who, x);
  check_float_input(who, x, x.rank() == rank, shape);
}

void check_rank_min(std::string_view layer, Value x, int rank, std::string_view shape) {
  const std::string who(layer);
  check_valid(who, x);
  check_float_input(who, x, x.rank() >= rank, shape);
}

int64_t fixed_size(std::string_view layer, Value x, int axis) {
  const Dim& dim = x.shape()[axis];
  if (dim.is_symbol()) {
    raise(invalid_argument(std::string(layer) + ": size " + std::to_string(axis) + " of the input " + to_string(x.shape()) +
                           " has to be a number, since the kernel's shape follows from it"));
  }
  return dim.size();
}

int64_t multiple(std::string_view layer, std::string_view option, int64_t factor, int64_t value) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(factor, value, &product)) return product;
  raise(invalid_argument(std::string(layer) + ": " + std::string(option) + " is " + std::to_string(value) + ", and " +
                         std::to_string(factor) + " times as much is more than any machine holds; make it smaller"));
}

void check_positive(std::string_view layer, std::string_view option, int64_t value) {
  if (value >= 1) return;
  raise(invalid_argument(std::string(layer) + ": " + std::string(option) + " is " + std::to_string(value) +
                         ", expected 1 or more"));
}

}  // namespace shoal::nn
