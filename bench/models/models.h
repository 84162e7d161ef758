// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The models that Shoal is measured with, by name: for each a model_fn, and batches of random numbers to train it on.
/// Those of bench/peers/torch_models.py are the same in PyTorch.
#include <memory>
#include <string_view>
#include <vector>

#include "shoal/backends/backend.h"
#include "shoal/data/dataset.h"
#include "shoal/estimator/model_fn.h"

namespace shoal::bench {

struct ModelEntry {
  std::string_view name;
  ModelFn model_fn;  ///< The model function for training; takes no parameters.
  data::Batch (*make_batch)(int64_t batch, RandomKey key);
};

/// "mlp": 784-512-512-10, relu (0.67 M parameters). "cnn": convolution 5x5x32, pool, convolution 5x5x64, pool, dense 1024,
/// dense 10; same padding, relu, 2x2 maxima, no dropout (3.27 M parameters). Both: 28 x 28 grey images to ten classes, SGD
/// with momentum 0.9. "resnet20": colour images of 32 x 32, likewise. "wide_and_deep": 26 columns of 10,000 ids with 16
/// features each, 13 numbers, 256-128-64-1, Adagrad. "lstm" (64-256) and "gpt" (4 blocks of 128 features and 4 heads):
/// 64 of 65 characters, Adam.
const std::vector<ModelEntry>& models();
/// Finds one of models() or "lenet5", which only bench/instructions trains: convolution 5x5x6, pool, convolution 5x5x16 without padding, pool,
/// dense 120, 84 and 10, relu (61,706 parameters). Raises InvalidArgument, listing the names, if there is none.
const ModelEntry& find_model(std::string_view name);

/// `count` different batches, over and over.
data::Dataset batches(const ModelEntry& model, int64_t batch, int count);

/// The training graph alone, for those who compile it themselves. Inputs are "features" and "labels" or, of maps,
/// "features/<name>"; their first size is the symbol "batch".
struct Model {
  std::unique_ptr<Graph> graph;
  Value loss;
  nn::TrainOp train_op;
};
Model build(const ModelEntry& model);
/// What a training step of it computes: the loss, the parts of gradients by rows (ids and gradients in turn, in the order
/// of the train op), and all other updates.
backends::CompileOptions step_of(const Model& model, int64_t batch, int threads);
/// The tensor of `batch` for the graph input `name`.
const Tensor& tensor_for(const data::Batch& batch, std::string_view name);

}  // namespace shoal::bench
