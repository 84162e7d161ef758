// SPDX-License-Identifier: Apache-2.0
// Learns which of two numbers is the larger one.
#include "program.h"

#include "shoal/base/random.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/head.h"

namespace {

shoal::EstimatorSpec larger(const shoal::Features& pairs, const shoal::Labels& labels, shoal::Mode mode,
                            const shoal::Params&, const shoal::RunConfig&) {
  shoal::nn::HeadInput input{.mode = mode, .labels = labels, .logits = shoal::nn::dense(pairs.single(), {.units = 3})};
  if (mode == shoal::Mode::kTrain) input.optimizer = shoal::nn::sgd({.learning_rate = 0.1});
  return shoal::nn::multi_class_head({.n_classes = 3})->build(input);
}

shoal::data::Dataset pairs(int64_t count, uint64_t seed) {
  shoal::Tensor numbers(shoal::DType::kFloat32, {count, 2}), labels(shoal::DType::kInt64, {count});
  shoal::RandomStream random(seed);
  for (float& x : numbers.mutable_as<float>()) x = 2 * random.next_float() - 1;
  for (size_t i = 0; i < size_t(count); ++i) {
    labels.mutable_as<int64_t>()[i] = numbers.as<float>()[2 * i] > numbers.as<float>()[2 * i + 1] ? 1 : 0;
  }
  return shoal::data::Dataset::from_tensor_slices(numbers, labels);
}

}  // namespace

void program(shoal::RunConfig config) {
  const auto training = [] { return pairs(64, 1).shuffle(64).repeat().batch(8); };
  const auto test = [] { return pairs(16, 2).batch(8); };
  shoal::Estimator estimator(larger, std::move(config));
  shoal::train_and_evaluate(estimator, {.input_fn = training, .max_steps = 60}, {.input_fn = test, .start_delay_secs = 0});
}
