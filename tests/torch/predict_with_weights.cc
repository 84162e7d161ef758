// SPDX-License-Identifier: Apache-2.0
// Predicts with a model that starts from a file of another program:
//   predict_with_weights MODEL FILE INPUT.npz OUTPUT.npy
// MODEL is one of models() below: the layers of Shoal, and what they start from in FILE. INPUT.npz has the features by name.
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "shoal/shoal.h"

namespace shoal {
namespace {

namespace torch = from_pytorch;
namespace keras = from_keras;

struct Model {
  Value (*network)(const Features& features);
  std::map<std::string, LayerWeights> layers;
};

/// The layers of images: a wide kernel, groups, both normalizations, and the dense layer behind them.
Value images(const Features& features) {
  Value net = nn::conv2d(
      features["x"], {.filters = 6, .kernel = {3, 5}, .strides = {2, 1}, .padding = Padding::explicit_sizes(1, 1, 2, 2)});
  net = nn::batch_norm(net, Mode::kPredict, {.epsilon = 1e-5, .activation = nn::Activation::kRelu});
  net = nn::depthwise_conv2d(net, {.multiplier = 2});
  net = nn::group_norm(net, {.groups = 3});
  net = nn::conv2d_transpose(net, {.filters = 4, .kernel = 2, .strides = 2});
  net = nn::dense(nn::flatten(net), {.units = 10, .activation = nn::Activation::kRelu});
  net = nn::layer_norm(net);
  return nn::dense(net, {.units = 4, .use_bias = false, .name = "result"});
}

Value lstm(const Features& features) {
  const Value words = nn::embedding(features["x"], {.ids = 11, .dimension = 5});
  const Value first = nn::lstm(words, {.units = 7, .forget_bias = 0}).sequence;
  return nn::lstm(first, {.units = 4, .forget_bias = 0}).sequence;
}

Value one_lstm(const Features& features) { return nn::lstm(features["x"], {.units = 7, .forget_bias = 0}).sequence; }

Value gru(const Features& features) { return nn::gru(features["x"], {.units = 6}).sequence; }

Value attention(const Features& features) { return nn::multi_head_attention(features["x"], {.heads = 2, .head_size = 3}); }

Value cross_attention(const Features& features) {
  return nn::multi_head_attention(features["x"], features["memory"], {.heads = 2, .head_size = 3});
}

Value transformer(const Features& features) {
  const Value first = nn::transformer_block(features["x"], Mode::kPredict, {.heads = 2, .feed_forward_units = 16});
  return nn::transformer_block(first, Mode::kPredict, {.heads = 2, .feed_forward_units = 16});
}

Value sequences(const Features& features) {
  const Value net = nn::conv1d(features["x"], {.filters = 4, .kernel = 3});
  return nn::dense(nn::flatten(net), {.units = 3});
}

/// What Keras has of the layers of images.
Value keras_images(const Features& features) {
  Value net = nn::conv2d(features["x"], {.filters = 4, .kernel = {3, 2}});
  net = nn::batch_norm(net, Mode::kPredict);
  net = nn::depthwise_conv2d(net, {.multiplier = 2, .kernel = {2, 3}});
  net = nn::conv2d_transpose(net, {.filters = 3, .kernel = {2, 3}});
  net = nn::dense(nn::flatten(net), {.units = 5});
  return nn::layer_norm(net, {.epsilon = 1e-3});
}

Value keras_words(const Features& features) {
  const Value words = nn::embedding(features["x"], {.ids = 11, .dimension = 5});
  return nn::conv1d(words, {.filters = 4, .kernel = 3});
}

std::map<std::string, Model> models() {
  return {
      {"images",
       {images,
        {{"conv2d", torch::conv("conv")},
         {"batch_norm", torch::batch_norm("bn")},
         {"depthwise_conv2d", torch::conv("depthwise")},
         {"group_norm", torch::norm("gn")},
         {"conv2d_transpose", torch::conv("up")},
         {"dense", torch::linear_after_flatten("fc1", {4, 4, 10})},
         {"layer_norm", torch::norm("ln")},
         {"result", torch::linear("fc2")}}}},
      {"lstm",
       {lstm,
        {{"embedding", torch::embedding("embedding")}, {"lstm", torch::lstm("first")}, {"lstm_1", torch::lstm("second")}}}},
      {"lstm_of_a_stack", {one_lstm, {{"lstm", torch::lstm("lstm", {.layer = 1})}}}},
      {"gru", {gru, {{"gru", torch::gru("gru")}}}},
      {"attention", {attention, {{"attention", torch::multi_head_attention("attention")}}}},
      {"cross_attention", {cross_attention, {{"attention", torch::cross_attention("attention")}}}},
      {"transformer",
       {transformer,
        {{"block", torch::transformer_encoder_layer("layers.0")},
         {"block_1", torch::transformer_encoder_layer("layers.1")}}}},
      {"sequences", {sequences, {{"conv1d", torch::conv("conv")}, {"dense", torch::linear_after_flatten("fc", {4, 6})}}}},
      {"keras_images",
       {keras_images,
        {{"conv2d", keras::conv2d("conv2d")},
         {"batch_norm", keras::batch_normalization("batch_normalization")},
         {"depthwise_conv2d", keras::depthwise_conv2d("depthwise_conv2d")},
         {"conv2d_transpose", keras::conv2d("conv2d_transpose")},
         {"dense", keras::dense("dense")},
         {"layer_norm", keras::normalization("layer_normalization")}}}},
      {"keras_words", {keras_words, {{"embedding", keras::embedding("embedding")}, {"conv1d", keras::conv1d("conv1d")}}}},
      {"keras_lstm", {one_lstm, {{"lstm", keras::lstm("lstm/lstm_cell")}}}},
      {"keras_gru", {gru, {{"gru", keras::gru("gru/gru_cell")}}}},
      {"keras_attention", {attention, {{"attention", keras::multi_head_attention("multi_head_attention")}}}},
      {"keras_cross_attention", {cross_attention, {{"attention", keras::cross_attention("multi_head_attention")}}}},
  };
}

void predict(const Model& model, const std::string& file, const std::string& input, const std::string& output) {
  const auto storage = make_file_storage();
  const data::TensorMap features = value_or_raise(data::read_npz(*storage, input));
  const int64_t batch = features.begin()->second.shape()[0];
  const ModelFn model_fn = [&](const Features& inputs, Mode mode) {
    EstimatorSpec spec;
    spec.mode = mode;
    spec.predictions = {{"y", model.network(inputs)}};
    return spec;
  };
  Estimator estimator(model_fn, RunConfig({.model_dir = output + ".model"}));
  estimator.warm_start({.from = file, .layers = model.layers});
  const auto predictions = estimator.predict([&] { return data::Dataset::from_tensor_slices(features).batch(batch); });
  std::vector<float> values;
  Shape shape;
  while (const auto one = predictions->next()) {
    shape = (*one)["y"].shape();
    const auto row = (*one)["y"].as<float>();
    values.insert(values.end(), row.begin(), row.end());
  }
  std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
  sizes.insert(sizes.begin(), batch);
  value_or_raise(data::write_npy(*storage, output, Tensor::of<float>(Shape(sizes), values)));
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "usage: predict_with_weights MODEL FILE INPUT.npz OUTPUT.npy\n"), 2;
  try {
    shoal::predict(shoal::models().at(argv[1]), argv[2], argv[3], argv[4]);
  } catch (const std::exception& exception) {
    return std::fprintf(stderr, "error: %s\n", exception.what()), 1;
  }
}
