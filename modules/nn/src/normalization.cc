// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/normalization.h"

#include "layers.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {
namespace {

/// Checks that x is float32 of at least this rank, and returns its number of channels.
int64_t checked_channels(std::string_view layer, Value x, int rank_min, std::string_view shape) {
  if (x.valid() && x.rank() < rank_min) check_input(layer, x, rank_min, shape);
  check_input(layer, x, x.valid() ? x.rank() : rank_min, shape);
  const int64_t channels = fixed_size(layer, x, x.rank() - 1);
  check_positive(layer, "the number of channels", channels);
  return channels;
}

/// The scale and shift of a layer: its weights, or constants if the layer has no such weights.
struct ScaleAndShift {
  Value scale;
  Value shift;
};

template <class Options>
ScaleAndShift add_scale_and_shift(Graph& graph, int64_t channels, const Options& options) {
  const Fans fans{.in = double(channels), .out = double(channels)};
  auto weight = [&](std::string_view name, bool used, float otherwise, const InitializerSpec& initializer) {
    if (used) return add_weight(graph, name, Shape{channels}, fans, {initializer, Regularizer{}, options.trainable});
    Tensor constant(DType::kFloat32, Shape{channels});
    for (float& value : constant.mutable_as<float>()) value = otherwise;
    return graph.constant(std::move(constant), name);
  };
  ScaleAndShift result;
  result.scale = weight("scale", options.use_scale, 1, options.scale_initializer);
  result.shift = weight("shift", options.use_shift, 0, options.shift_initializer);
  return result;
}

}  // namespace

Value batch_norm(Value x, Mode mode, const BatchNormOptions& options) {
  const int64_t channels = checked_channels(options.name, x, 2, "[batch, ..., channels]");
  if (!(options.decay >= 0 && options.decay <= 1)) {
    raise(invalid_argument(options.name + ": decay is " + std::to_string(options.decay) + ", expected a number in [0, 1]"));
  }
  Graph& graph = x.graph();
  const auto scope = graph.scope(options.name);
  const auto [scale, shift] = add_scale_and_shift(graph, channels, options);
  auto average = [&](std::string_view name, double start) {
    return graph.variable(name, Shape{channels}, {.initializer = {.a = start}, .trainable = false});
  };
  const Value moving_mean = average("moving_mean", 0), moving_variance = average("moving_variance", 1);
  const ops::NormOptions norm{.epsilon = options.epsilon};
  if (mode != Mode::kTrain || !options.trainable) {
    const Value y = ops::batch_norm_inference(x, scale, shift, {.mean = moving_mean, .variance = moving_variance}, norm);
    return activate(y, options.activation);
  }
  const ops::BatchNorm normalized = ops::batch_norm(x, scale, shift, norm);
  keep_moving_average(moving_mean, normalized.mean, options.decay);
  keep_moving_average(moving_variance, normalized.variance, options.decay);
  return activate(normalized.y, options.activation);
}

Value layer_norm(Value x, const LayerNormOptions& options) {
  const int64_t channels = checked_channels(options.name, x, 1, "[..., channels]");
  Graph& graph = x.graph();
  const auto scope = graph.scope(options.name);
  const auto [scale, shift] = add_scale_and_shift(graph, channels, options);
  return ops::layer_norm(x, scale, shift, {.epsilon = options.epsilon});
}

Value group_norm(Value x, const GroupNormOptions& options) {
  const int64_t channels = checked_channels(options.name, x, 2, "[batch, ..., channels]");
  Graph& graph = x.graph();
  const auto scope = graph.scope(options.name);
  const auto [scale, shift] = add_scale_and_shift(graph, channels, options);
  return ops::group_norm(x, scale, shift, {.groups = options.groups, .epsilon = options.epsilon});
}

}  // namespace shoal::nn
