// SPDX-License-Identifier: Apache-2.0
#include "models.h"

#include <string>

#include "language.h"
#include "resnet20.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/conv2d.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/flatten.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/optimizers.h"
#include "shoal/nn/pooling.h"
#include "wide_and_deep.h"

namespace shoal::bench {
namespace {

using nn::Activation;

constexpr int64_t kIds = 10000;  // Ids of each of the columns of "wide_and_deep".
constexpr int64_t kColumns = 26;
constexpr int64_t kNumbers = 13;
constexpr int64_t kCharacters = 65;
constexpr int64_t kPlaces = 64;  // Places of a text.

EstimatorSpec train(Value loss, const nn::Optimizer& optimizer) {
  EstimatorSpec spec;
  spec.mode = Mode::kTrain;
  spec.loss = loss;
  spec.train_op = optimizer.minimize(loss);
  return spec;
}

EstimatorSpec classify(Value logits, const Labels& labels) {
  return train(nn::reduce_loss(nn::softmax_cross_entropy({.labels = labels.single(), .logits = logits})),
               nn::sgd({.learning_rate = 0.01, .momentum = 0.9}));
}

EstimatorSpec mlp(const Features& features, const Labels& labels, Mode, const Params&, const RunConfig&) {
  Value x = nn::flatten(features.single());
  x = nn::dense(x, {.units = 512, .activation = Activation::kRelu});
  x = nn::dense(x, {.units = 512, .activation = Activation::kRelu});
  return classify(nn::dense(x, {.units = 10}), labels);
}

EstimatorSpec cnn(const Features& features, const Labels& labels, Mode, const Params&, const RunConfig&) {
  Value x = features.single();
  for (int64_t filters : {32, 64}) {
    x = nn::conv2d(x, {.filters = filters, .kernel = 5, .padding = Padding::same(), .activation = Activation::kRelu});
    x = nn::max_pool(x);
  }
  x = nn::dense(nn::flatten(x), {.units = 1024, .activation = Activation::kRelu});
  return classify(nn::dense(x, {.units = 10}), labels);
}

EstimatorSpec lenet5(const Features& features, const Labels& labels, Mode, const Params&, const RunConfig&) {
  Value x = nn::conv2d(features.single(),
                       {.filters = 6, .kernel = 5, .padding = Padding::same(), .activation = Activation::kRelu});
  x = nn::conv2d(nn::max_pool(x), {.filters = 16, .kernel = 5, .activation = Activation::kRelu});
  x = nn::flatten(nn::max_pool(x));
  for (int64_t units : {120, 84}) x = nn::dense(x, {.units = units, .activation = Activation::kRelu});
  return classify(nn::dense(x, {.units = 10}), labels);
}

EstimatorSpec resnet20(const Features& features, const Labels& labels, Mode mode, const Params&, const RunConfig&) {
  return classify(::models::resnet20(features.single(), mode), labels);
}

EstimatorSpec resnet20_recompute(const Features& features, const Labels& labels, Mode mode, const Params&,
                                 const RunConfig&) {
  return classify(::models::resnet20(features.single(), mode, {.recompute = true}), labels);
}

EstimatorSpec wide_and_deep(const Features& features, const Labels& labels, Mode, const Params&, const RunConfig&) {
  const Value logits = ::models::wide_and_deep(features["ids"], features["numbers"], {.ids = kIds});
  return train(nn::reduce_loss(nn::sigmoid_cross_entropy({.labels = labels.single(), .logits = logits})),
               nn::adagrad({.learning_rate = 0.01}));
}

EstimatorSpec predict_next(Value logits, const Labels& labels) {
  return train(nn::reduce_loss(nn::softmax_cross_entropy({.labels = labels.single(), .logits = logits})),
               nn::adam({.learning_rate = 0.001}));
}

EstimatorSpec lstm(const Features& features, const Labels& labels, Mode, const Params&, const RunConfig&) {
  return predict_next(::models::char_lstm(features.single(), {.characters = kCharacters}), labels);
}

EstimatorSpec gpt(const Features& features, const Labels& labels, Mode mode, const Params&, const RunConfig&) {
  return predict_next(::models::gpt(features.single(), mode, {.characters = kCharacters}), labels);
}

Tensor floats(RandomKey key, Shape shape) {
  Tensor tensor(DType::kFloat32, shape);
  fill_uniform(key, 0, tensor.mutable_as<float>(), 0.0f, 1.0f);
  return tensor;
}

Tensor integers(RandomKey key, Shape shape, uint64_t bound) {
  Tensor tensor(DType::kInt64, shape);
  RandomStream stream(key);
  for (int64_t& value : tensor.mutable_as<int64_t>()) value = int64_t(stream.below(bound));
  return tensor;
}

data::Batch grey_images(int64_t batch, RandomKey key) {
  return {.features = floats(fold_in(key, "images"), {batch, 28, 28, 1}),
          .labels = integers(fold_in(key, "labels"), {batch}, 10)};
}

data::Batch colour_images(int64_t batch, RandomKey key) {
  return {.features = floats(fold_in(key, "images"), {batch, 32, 32, 3}),
          .labels = integers(fold_in(key, "labels"), {batch}, 10)};
}

data::Batch ids_and_numbers(int64_t batch, RandomKey key) {
  Tensor labels = floats(fold_in(key, "labels"), {batch, 1});
  for (float& label : labels.mutable_as<float>()) label = label < 0.5f ? 0.0f : 1.0f;
  data::TensorMap features;
  features.set("ids", integers(fold_in(key, "ids"), {batch, kColumns}, uint64_t(kIds)));
  features.set("numbers", floats(fold_in(key, "numbers"), {batch, kNumbers}));
  return {.features = std::move(features), .labels = std::move(labels)};
}

data::Batch text(int64_t batch, RandomKey key) {
  const Tensor characters = integers(key, {batch, kPlaces + 1}, uint64_t(kCharacters));
  Tensor ids(DType::kInt64, {batch, kPlaces}), next(DType::kInt64, {batch, kPlaces});
  for (int64_t row = 0; row < batch; ++row) {
    for (int64_t place = 0; place < kPlaces; ++place) {
      const auto from = size_t(row * (kPlaces + 1) + place), to = size_t(row * kPlaces + place);
      ids.mutable_as<int64_t>()[to] = characters.as<int64_t>()[from];
      next.mutable_as<int64_t>()[to] = characters.as<int64_t>()[from + 1];
    }
  }
  return {.features = std::move(ids), .labels = std::move(next)};
}

std::string input_name(std::string_view part, std::string_view name) {
  return std::string(part) + (name.empty() ? "" : "/" + std::string(name));
}

nn::ValueMap inputs(Graph& graph, const data::TensorMap& tensors, std::string_view part) {
  nn::ValueMap values;
  for (const auto& [name, tensor] : tensors) {
    std::vector<Dim> dims{Dim::symbol("batch")};
    for (int axis = 1; axis < tensor.shape().rank(); ++axis) dims.emplace_back(tensor.shape()[axis]);
    values.set(name, graph.input(input_name(part, name), tensor.dtype(), DimShape(std::move(dims))));
  }
  return values;
}

}  // namespace

const std::vector<ModelEntry>& models() {
  static const std::vector<ModelEntry> entries{{"mlp", mlp, grey_images},
                                               {"cnn", cnn, grey_images},
                                               {"resnet20", resnet20, colour_images},
                                               {"wide_and_deep", wide_and_deep, ids_and_numbers},
                                               {"lstm", lstm, text},
                                               {"gpt", gpt, text}};
  return entries;
}

const ModelEntry& find_model(std::string_view name) {
  // What has figures of its own: the smallest, for boards, and the one that computes again rather than keep.
  static const std::vector<ModelEntry> others{{"lenet5", lenet5, grey_images},
                                              {"resnet20_recompute", resnet20_recompute, colour_images}};
  for (const ModelEntry& entry : others) {
    if (entry.name == name) return entry;
  }
  std::string names;
  for (const ModelEntry& entry : models()) {
    if (entry.name == name) return entry;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  raise(invalid_argument("there is no model \"" + std::string(name) + "\"; there are: " + names));
}

data::Dataset batches(const ModelEntry& model, int64_t batch, int count) {
  auto one = [&](int i) {
    data::Batch made = model.make_batch(batch, fold_in(RandomKey{7}, uint64_t(i)));
    return data::Dataset::from_tensors(std::move(made.features), std::move(made.labels));
  };
  data::Dataset all = one(0);
  for (int i = 1; i < count; ++i) all = all.concatenate(one(i));
  return all.repeat();
}

Model build(const ModelEntry& model) {
  const data::Batch example = model.make_batch(1, RandomKey{0});
  Model built{std::make_unique<Graph>(RandomKey{1}), {}, {}};
  const Features features(inputs(*built.graph, example.features, "features"));
  const Labels labels(inputs(*built.graph, example.labels, "labels"));
  EstimatorSpec spec = model.model_fn(features, labels, Mode::kTrain, Params(), RunConfig());
  built.loss = spec.loss;
  built.train_op = std::move(spec.train_op).value();
  return built;
}

backends::CompileOptions step_of(const Model& model, int64_t batch, int threads) {
  backends::CompileOptions options{.sizes = {{"batch", batch}},
                                   .fetches = {model.loss},
                                   .updates = {},
                                   .update_variables = {},
                                   .threads = threads,
                                   .fallback = {}};
  for (const nn::VariableUpdate& update : model.train_op.updates) {
    for (const nn::RowUpdate& part : update.rows) {
      options.fetches.insert(options.fetches.end(), {part.ids, part.gradients});
    }
    if (!update.rows.empty()) continue;
    options.updates.push_back(update.update);
    options.update_variables.push_back(update.variable);
  }
  return options;
}

const Tensor& tensor_for(const data::Batch& batch, std::string_view name) {
  for (const auto& [part, tensors] : {std::pair{"features", &batch.features}, std::pair{"labels", &batch.labels}}) {
    for (const auto& [tensor, value] : *tensors) {
      if (input_name(part, tensor) == name) return value;
    }
  }
  raise(invalid_argument("batches have no tensor for input \"" + std::string(name) + "\""));
}

}  // namespace shoal::bench
