#pragma once
/// The two models that every system here trains: 28 x 28 grey images to ten classes, SGD with momentum 0.9.
#include <memory>
#include <string_view>

#include "shoal/graph/graph.h"
#include "shoal/nn/train_op.h"

namespace shoal::bench {

struct Model {
  std::unique_ptr<Graph> graph;  ///< inputs "images" [batch, 28, 28, 1] float32 and "labels" [batch] int64
  Value loss;
  nn::TrainOp train_op;
};

/// "mlp": 784-512-512-10, relu (0.67 M parameters). "cnn": convolution 5x5x32, pool, convolution 5x5x64, pool, dense 1024,
/// dense 10; same padding, relu, 2x2 maxima, no dropout (3.27 M parameters). Raises InvalidArgument for other names.
Model make_model(std::string_view name);

}  // namespace shoal::bench
