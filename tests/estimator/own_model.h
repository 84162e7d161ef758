// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model with ops of its own in its network, and an optimizer of its own: the sign of a mean of gradients (Chen et al.,
// "Symbolic discovery of optimization algorithms", 2023).
#include <string>
#include <vector>

#include "own_ops.h"
#include "shoal/estimator/estimator.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/optimizers.h"
#include "shoal/nn/own_optimizer.h"

namespace shoal::testing {

inline Value sign_of(Value x) {
  const Value zero = x.graph().constant(0.0f);
  return ops::greater(x, zero) - ops::less(x, zero);
}

inline nn::TrainOp lion(Value loss, nn::LearningRate rate) {
  const auto rule = [](const nn::OwnStep& step) -> std::vector<nn::VariableUpdate> {
    const Value m = step.slot("lion");
    const Value direction = sign_of(m * 0.9 + step.gradient() * 0.1);
    return {nn::descend(step.variable(), direction),
            nn::assign(m, m * 0.99 + step.gradient() * step.by_step("share") * 0.01)};
  };
  const auto share = [](uint64_t step) { return 1 + 1 / double(step + 1); };  // Early gradients count for more.
  return nn::minimize_by(loss, rule, {.learning_rate = std::move(rate), .by_step = {{"share", share}}});
}

/// x of [n, k], labels of [n, 1]. Params: slope, rate.
inline EstimatorSpec own_model(const Features& features, const Labels& labels, Mode mode, const Params& params,
                               const RunConfig&) {
  EstimatorSpec spec;
  spec.mode = mode;
  const Value x = nn::dense(features.single(), {.units = 6, .name = "hidden"});
  const Value squashed = x.graph().add("squash", {x}, {{"slope", params.get_real("slope", 2.0)}}, "squash")[0];
  // Rounded to eighths. The gradient is that of the value before rounding.
  const Value eighths = x.graph().add("round_off", {squashed * 8.0}, {}, "eighths")[0] * 0.125;
  const Value straight = squashed + ops::stop_gradient(eighths - squashed);
  const Value y = nn::dense(straight, {.units = 1, .name = "linear"});
  spec.predictions = {{"y", y}};
  if (mode == Mode::kPredict) return spec;
  const Value losses = nn::squared_error({.labels = labels.single(), .predictions = y});
  spec.loss = nn::reduce_loss(losses);
  if (mode == Mode::kEval) spec.eval_metrics = {{"average_loss", nn::mean(losses)}};
  const double rate = params.get_real("rate", 0.02);
  if (mode == Mode::kTrain) {
    spec.train_op = lion(spec.loss, [rate](uint64_t step) { return rate / (1 + 0.01 * double(step)); });
  }
  return spec;
}

}  // namespace shoal::testing
