#include "models.h"

#include <string>

#include "shoal/nn/conv2d.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/flatten.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/optimizer.h"
#include "shoal/nn/pooling.h"

namespace shoal::bench {
namespace {

using nn::Activation;

EstimatorSpec train(Value loss, const nn::Optimizer& optimizer) {
  EstimatorSpec spec;
  spec.mode = Mode::kTrain;
  spec.loss = loss;
  spec.train_op = optimizer.minimize(loss);
  return spec;
}

EstimatorSpec classify(Value logits, const Labels& labels) {
  return train(nn::reduce_loss(nn::softmax_cross_entropy(logits, labels.single())),
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
  static const std::vector<ModelEntry> entries{{"mlp", mlp, grey_images}, {"cnn", cnn, grey_images}};
  return entries;
}

const ModelEntry& find_model(std::string_view name) {
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
  const Features features = inputs(*built.graph, example.features, "features");
  const Labels labels = inputs(*built.graph, example.labels, "labels");
  EstimatorSpec spec = model.model_fn(features, labels, Mode::kTrain, Params(), RunConfig());
  built.loss = spec.loss;
  built.train_op = std::move(spec.train_op).value();
  return built;
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
