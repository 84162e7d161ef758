// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <numbers>

#include "language.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/optimizers.h"
#include "shoal/nn/schedules.h"

namespace text {
namespace {

namespace nn = shoal::nn;
namespace ops = shoal::ops;
using shoal::Value;

/// Returns the number of characters. Also records in the graph which character each id stands for (graph/meaning.h). The
/// ops do not show this. Without the record, a model of another text could be mistaken for this one.
int64_t note_characters(const shoal::Features& features, const shoal::Params& params) {
  std::vector<std::string> characters;
  for (const char character : params.get_string("characters")) characters.emplace_back(1, character);
  features.single().graph().meaning().add("features",
                                          {.kind = "ids", .lists = {{"characters", shoal::MeaningList::of(characters)}}});
  return int64_t(characters.size());
}

/// Makes the spec from the logits at each position. The label of a position is the character that follows there.
shoal::EstimatorSpec predict_next(Value logits, const shoal::Labels& labels, shoal::Mode mode,
                                  const shoal::Params& params) {
  shoal::EstimatorSpec spec;
  spec.mode = mode;
  const Value next = ops::argmax(logits);
  spec.predictions = {{"probabilities", ops::softmax(logits)}, {"next", next}};
  if (mode == shoal::Mode::kPredict) return spec;
  const Value losses = ops::softmax_cross_entropy({.labels = labels.single(), .logits = logits}).loss;
  spec.loss = nn::reduce_loss(losses);
  if (mode == shoal::Mode::kEval) {
    spec.eval_metrics = {{"accuracy", nn::accuracy({.labels = labels.single(), .predictions = next})},
                         {"bits_per_character", nn::mean(ops::scale(losses, std::numbers::log2e))}};
  } else {
    const double rate = params.get_real("learning_rate");
    const nn::LearningRate decay =
        nn::cosine_decay({.initial = rate, .decay_steps = uint64_t(params.get_int("steps")), .end = rate / 10});
    spec.train_op = nn::adam({.learning_rate = nn::warm_up(decay, {.steps = 100})}).minimize(spec.loss);
  }
  return spec;
}

}  // namespace

shoal::EstimatorSpec lstm(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                          const shoal::Params& params, const shoal::RunConfig&) {
  const Value logits = models::char_lstm(features.single(), {.characters = note_characters(features, params)});
  return predict_next(logits, labels, mode, params);
}

shoal::EstimatorSpec gpt(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                         const shoal::Params& params, const shoal::RunConfig&) {
  const int64_t characters = note_characters(features, params);
  const Value logits = models::gpt(features.single(), mode, {.characters = characters, .context = kContext});
  return predict_next(logits, labels, mode, params);
}

}  // namespace text
