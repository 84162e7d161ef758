// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/layer_weights.h"

#include <numeric>

namespace shoal {
namespace {

/// Adds the variables of `layer` to `all`, in the scope `scope`.
void put_within(LayerWeights& all, const std::string& scope, const LayerWeights& layer) {
  for (const auto& [name, source] : layer) all.emplace(scope + "/" + name, source);
}

}  // namespace

namespace from_pytorch {

LayerWeights linear(const std::string& name) { return {{"kernel", name + ".weight"}, {"bias", name + ".bias"}}; }

LayerWeights linear_after_flatten(const std::string& name, std::vector<int64_t> sizes) {
  // The axes of the weight are units, channels, and then those of the image, such as height and width. Moves the channels
  // to the end.
  std::vector<int64_t> axes(sizes.size() + 1);
  std::iota(axes.begin() + 1, axes.end(), 2);
  if (!sizes.empty()) axes.back() = 1;
  sizes.insert(sizes.begin(), 0);
  return {
      {"kernel", SourceTensor(name + ".weight").reshaped(std::move(sizes)).transposed(std::move(axes)).reshaped({0, -1})},
      {"bias", name + ".bias"}};
}

LayerWeights conv(const std::string& name) { return linear(name); }

LayerWeights batch_norm(const std::string& name) {
  LayerWeights weights = norm(name);
  weights.emplace("moving_mean", name + ".running_mean");
  weights.emplace("moving_variance", name + ".running_var");
  return weights;
}

LayerWeights norm(const std::string& name) { return {{"scale", name + ".weight"}, {"shift", name + ".bias"}}; }

LayerWeights embedding(const std::string& name) { return {{"table", name + ".weight"}}; }

LayerWeights lstm(const std::string& name, const RecurrentOptions& options) {
  const std::string layer = "_l" + std::to_string(options.layer);
  return {{"kernel", name + ".weight_ih" + layer},
          {"recurrent_kernel", name + ".weight_hh" + layer},
          {"bias", SourceTensor(name + ".bias_ih" + layer).plus(name + ".bias_hh" + layer)}};
}

LayerWeights gru(const std::string& name, const RecurrentOptions& options) {
  const std::string layer = "_l" + std::to_string(options.layer);
  return {{"kernel", name + ".weight_ih" + layer},
          {"recurrent_kernel", name + ".weight_hh" + layer},
          {"bias", name + ".bias_ih" + layer},
          {"recurrent_bias", name + ".bias_hh" + layer}};
}

LayerWeights multi_head_attention(const std::string& name) {
  return {{"projections/kernel", name + ".in_proj_weight"},
          {"projections/bias", name + ".in_proj_bias"},
          {"result/kernel", name + ".out_proj.weight"},
          {"result/bias", name + ".out_proj.bias"}};
}

LayerWeights cross_attention(const std::string& name) {
  LayerWeights weights;
  put_within(weights, "result", linear(name + ".out_proj"));
  int64_t part = 0;
  for (const char* projection : {"query", "key", "value"}) {
    put_within(weights, projection,
               {{"kernel", SourceTensor(name + ".in_proj_weight").parts(3, {part})},
                {"bias", SourceTensor(name + ".in_proj_bias").parts(3, {part})}});
    ++part;
  }
  return weights;
}

LayerWeights transformer_encoder_layer(const std::string& name) {
  LayerWeights weights;
  put_within(weights, "layer_norm", norm(name + ".norm1"));
  put_within(weights, "attention", multi_head_attention(name + ".self_attn"));
  put_within(weights, "layer_norm_1", norm(name + ".norm2"));
  put_within(weights, "feed_forward", linear(name + ".linear1"));
  put_within(weights, "feed_forward_result", linear(name + ".linear2"));
  return weights;
}

}  // namespace from_pytorch

namespace from_keras {
namespace {

/// Keras orders the axes of a kernel so: first those of the image (such as height and width), then the inputs, then the
/// units or filters. `axes` lists these axes in Shoal's order.
LayerWeights layer_with_kernel(const std::string& name, std::vector<int64_t> axes) {
  return {{"kernel", SourceTensor(name + "/kernel").transposed(std::move(axes))}, {"bias", name + "/bias"}};
}

/// Turns the kernel of a projection from Keras's [features, heads, head_size] into Shoal's [heads * head_size, features].
SourceTensor projection_kernel(const std::string& name) {
  return SourceTensor(name + "/kernel").reshaped({0, -1}).transposed({1, 0});
}

SourceTensor projection_bias(const std::string& name) { return SourceTensor(name + "/bias").reshaped({-1}); }

/// The output projection, [heads, head_size, features] in Keras.
LayerWeights attention_result(const std::string& name) {
  return {{"kernel", SourceTensor(name + "/attention_output/kernel").transposed({2, 0, 1}).reshaped({0, -1})},
          {"bias", name + "/attention_output/bias"}};
}

}  // namespace

LayerWeights dense(const std::string& name) { return layer_with_kernel(name, {1, 0}); }
LayerWeights conv1d(const std::string& name) { return layer_with_kernel(name, {2, 1, 0}); }
LayerWeights conv2d(const std::string& name) { return layer_with_kernel(name, {3, 2, 0, 1}); }

LayerWeights depthwise_conv2d(const std::string& name) {
  // Keras's kernel [height, width, channels, multiplier] becomes Shoal's [channels * multiplier, 1, height, width].
  return {{"kernel", SourceTensor(name + "/kernel").transposed({2, 3, 0, 1}).reshaped({-1, 1, 0, 0})},
          {"bias", name + "/bias"}};
}

LayerWeights batch_normalization(const std::string& name) {
  LayerWeights weights = normalization(name);
  weights.emplace("moving_mean", name + "/moving_mean");
  weights.emplace("moving_variance", name + "/moving_variance");
  return weights;
}

LayerWeights normalization(const std::string& name) { return {{"scale", name + "/gamma"}, {"shift", name + "/beta"}}; }

LayerWeights embedding(const std::string& name) { return {{"table", name + "/embeddings"}}; }

LayerWeights lstm(const std::string& name) {
  return {{"kernel", SourceTensor(name + "/kernel").transposed({1, 0})},
          {"recurrent_kernel", SourceTensor(name + "/recurrent_kernel").transposed({1, 0})},
          {"bias", name + "/bias"}};
}

LayerWeights gru(const std::string& name) {
  // Keras has the update gate before the reset gate, and both biases in one tensor [2, 3 * units].
  const std::vector<int64_t> gates{1, 0, 2};
  const auto bias = [&](int64_t row) {
    return SourceTensor(name + "/bias").parts(2, {row}).reshaped({-1}).parts(3, gates);
  };
  return {{"kernel", SourceTensor(name + "/kernel").transposed({1, 0}).parts(3, gates)},
          {"recurrent_kernel", SourceTensor(name + "/recurrent_kernel").transposed({1, 0}).parts(3, gates)},
          {"bias", bias(0)},
          {"recurrent_bias", bias(1)}};
}

LayerWeights multi_head_attention(const std::string& name) {
  const std::string query = name + "/query", key = name + "/key", value = name + "/value";
  LayerWeights weights{
      {"projections/kernel",
       projection_kernel(query).followed_by(projection_kernel(key)).followed_by(projection_kernel(value))},
      {"projections/bias", projection_bias(query).followed_by(projection_bias(key)).followed_by(projection_bias(value))}};
  put_within(weights, "result", attention_result(name));
  return weights;
}

LayerWeights cross_attention(const std::string& name) {
  LayerWeights weights;
  put_within(weights, "result", attention_result(name));
  for (const std::string projection : {"query", "key", "value"}) {
    const std::string source = name + "/" + projection;
    put_within(weights, projection, {{"kernel", projection_kernel(source)}, {"bias", projection_bias(source)}});
  }
  return weights;
}

}  // namespace from_keras
}  // namespace shoal
