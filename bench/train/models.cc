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

Value mlp(Value images) {
  Value x = nn::flatten(images);
  x = nn::dense(x, {.units = 512, .activation = Activation::kRelu});
  x = nn::dense(x, {.units = 512, .activation = Activation::kRelu});
  return nn::dense(x, {.units = 10});
}

Value cnn(Value images) {
  Value x = images;
  for (int64_t filters : {32, 64}) {
    x = nn::conv2d(x, {.filters = filters, .kernel = 5, .padding = Padding::same(), .activation = Activation::kRelu});
    x = nn::max_pool(x);
  }
  x = nn::dense(nn::flatten(x), {.units = 1024, .activation = Activation::kRelu});
  return nn::dense(x, {.units = 10});
}

}  // namespace

Model make_model(std::string_view name) {
  if (name != "mlp" && name != "cnn") raise(invalid_argument("model \"" + std::string(name) + "\": mlp and cnn exist"));
  Model model{std::make_unique<Graph>(1), {}, {}};
  const Dim batch = Dim::symbol("batch");
  const Value images = model.graph->input("images", DType::kFloat32, {batch, 28, 28, 1});
  const Value labels = model.graph->input("labels", DType::kInt64, {batch});
  const Value logits = name == "mlp" ? mlp(images) : cnn(images);
  model.loss = nn::reduce_loss(nn::softmax_cross_entropy(logits, labels));
  model.train_op = nn::sgd({.learning_rate = 0.01, .momentum = 0.9}).minimize(model.loss);
  return model;
}

}  // namespace shoal::bench
