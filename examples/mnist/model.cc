// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <algorithm>

#include "shoal/graph/ops.h"
#include "shoal/nn/conv2d.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/dropout.h"
#include "shoal/nn/flatten.h"
#include "shoal/nn/head.h"
#include "shoal/nn/pooling.h"

namespace mnist {
namespace {

namespace nn = shoal::nn;
namespace ops = shoal::ops;
using shoal::Value;

/// Converts pixels from bytes to floats from 0 to 1: [batch, 28, 28, 1].
Value pixels(const shoal::Features& features) {
  return ops::scale(ops::cast(features.single(), shoal::DType::kFloat32), 1.0 / 255);
}

/// A learning rate that falls linearly to a tenth over `steps` steps: large updates first approach the minimum, and small
/// ones then settle there.
nn::LearningRate slowing_down(double rate, int64_t steps) {
  return [rate, steps](uint64_t step) { return rate * (1 - 0.9 * std::min(1.0, double(step) / double(steps))); };
}

shoal::EstimatorSpec classify(Value logits, const shoal::Labels& labels, shoal::Mode mode, const shoal::Params& params) {
  const auto head = nn::multi_class_head({.n_classes = 10});
  nn::HeadInput input{.mode = mode, .features = {}, .labels = labels, .logits = logits, .optimizer = {}, .train_op = {}};
  if (mode == shoal::Mode::kTrain) {
    input.optimizer = nn::adam({.learning_rate = slowing_down(params.get_real("learning_rate"), params.get_int("steps"))});
  }
  return head->build(input);
}

}  // namespace

shoal::EstimatorSpec mlp(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                         const shoal::Params& params, const shoal::RunConfig&) {
  Value x = nn::flatten(pixels(features));
  x = nn::dense(x, {.units = 512, .activation = nn::Activation::kRelu});
  x = nn::dense(x, {.units = 512, .activation = nn::Activation::kRelu});
  x = nn::dropout(x, mode, {.rate = 0.2});
  return classify(nn::dense(x, {.units = 10, .name = "logits"}), labels, mode, params);
}

shoal::EstimatorSpec lenet5(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                            const shoal::Params& params, const shoal::RunConfig&) {
  Value x = pixels(features);
  x = nn::conv2d(x, {.filters = 6, .kernel = 5, .padding = shoal::Padding::same(), .activation = nn::Activation::kRelu});
  x = nn::max_pool(x);
  x = nn::conv2d(x, {.filters = 16, .kernel = 5, .activation = nn::Activation::kRelu});
  x = nn::flatten(nn::max_pool(x));
  for (const int64_t units : {120, 84}) x = nn::dense(x, {.units = units, .activation = nn::Activation::kRelu});
  return classify(nn::dense(x, {.units = 10, .name = "logits"}), labels, mode, params);
}

shoal::EstimatorSpec cnn(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                         const shoal::Params& params, const shoal::RunConfig&) {
  Value x = pixels(features);
  x = nn::conv2d(x, {.filters = 32, .kernel = 5, .padding = shoal::Padding::same(), .activation = nn::Activation::kRelu});
  x = nn::max_pool(x);
  x = nn::conv2d(x, {.filters = 64, .kernel = 5, .padding = shoal::Padding::same(), .activation = nn::Activation::kRelu});
  x = nn::max_pool(x);
  x = nn::dense(nn::flatten(x), {.units = 1024, .activation = nn::Activation::kRelu});
  x = nn::dropout(x, mode, {.rate = 0.4});
  return classify(nn::dense(x, {.units = 10, .name = "logits"}), labels, mode, params);
}

}  // namespace mnist
