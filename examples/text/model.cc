#include "model.h"

#include <algorithm>
#include <numbers>

#include "language.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/optimizer.h"

namespace text {
namespace {

namespace nn = shoal::nn;
namespace ops = shoal::ops;
using shoal::Value;

/// Down to a tenth, evenly over the training.
nn::LearningRate slowing_down(double rate, int64_t steps) {
  return [rate, steps](uint64_t step) { return rate * (1 - 0.9 * std::min(1.0, double(step) / double(steps))); };
}

/// From the logits of each position and the character that follows there.
shoal::EstimatorSpec predict_next(Value logits, const shoal::Labels& labels, shoal::Mode mode,
                                  const shoal::Params& params) {
  shoal::EstimatorSpec spec;
  spec.mode = mode;
  const Value next = ops::argmax(logits);
  spec.predictions = {{"probabilities", ops::softmax(logits)}, {"next", next}};
  if (mode == shoal::Mode::kPredict) return spec;
  const Value losses = ops::softmax_cross_entropy(logits, labels.single()).loss;
  spec.loss = nn::reduce_loss(losses);
  if (mode == shoal::Mode::kEval) {
    spec.eval_metrics = {{"accuracy", nn::accuracy(labels.single(), next)},
                         {"bits_per_character", nn::mean(ops::scale(losses, std::numbers::log2e))}};
  } else {
    const double rate = params.get_real("learning_rate");
    spec.train_op = nn::adam({.learning_rate = slowing_down(rate, params.get_int("steps"))}).minimize(spec.loss);
  }
  return spec;
}

}  // namespace

shoal::EstimatorSpec lstm(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                          const shoal::Params& params, const shoal::RunConfig&) {
  const Value logits = models::char_lstm(features.single(), {.characters = params.get_int("characters")});
  return predict_next(logits, labels, mode, params);
}

shoal::EstimatorSpec gpt(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                         const shoal::Params& params, const shoal::RunConfig&) {
  const Value logits =
      models::gpt(features.single(), mode, {.characters = params.get_int("characters"), .context = kContext});
  return predict_next(logits, labels, mode, params);
}

}  // namespace text
