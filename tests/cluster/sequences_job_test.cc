// SPDX-License-Identifier: Apache-2.0
/// Sentences of different lengths as whole jobs: the model of docs/how-to/sequences.md, whose table is updated by rows.
#include "jobs.h"
#include "shoal/graph/text_ids.h"
#include "shoal/nn/embedding.h"
#include "shoal/nn/head.h"
#include "shoal/nn/recurrent.h"

namespace shoal::testing {
namespace {

constexpr int64_t kSentences = 60;

/// Sentence i has 1 + i mod 7 words, all "up" or, in each third, "down"; its label says which.
Dataset sentences() {
  return Dataset::range(kSentences).map([](data::Element element) -> Result<data::Element> {
    const int64_t i = element.features.single().as<int64_t>()[0], words = 1 + i % 7;
    const std::string word = i % 3 == 0 ? "down" : "up";
    return data::Element{{{"words", Tensor::of_strings({words}, std::vector<std::string>(size_t(words), word))},
                          {"length", Tensor::scalar<int64_t>(words)}},
                         Tensor::scalar<int64_t>(i % 3 == 0)};
  });
}

EstimatorSpec model(const Features& features, const Labels& labels, Mode mode) {
  const Value ids = text_ids(features["words"], {.buckets = 50, .missing_id = 0});
  const Value words = nn::embedding(ids, {.ids = 50, .dimension = 4});
  const Value sentence = nn::lstm(words, {.units = 5, .lengths = features["length"]}).last_hidden;
  nn::HeadInput input{.mode = mode, .labels = labels, .logits = nn::dense(sentence, {.units = 1})};
  if (mode == Mode::kTrain) input.optimizer = nn::adam({.learning_rate = 0.02});
  return nn::binary_head()->build(input);
}

JobSpec spec_of_sequences(int64_t steps) {
  return {
      .model = model,
      .max_steps = steps,
      .input =
          sentences().shuffle(kSentences).repeat().padded_batch(5, {.sizes = {{"features/words", {-1}}}, .multiple_of = 2}),
      .eval_input = sentences().padded_batch(7),
      .varying = {{"features/words", {"time"}}}};
}

TEST(SequencesJob, ASynchronousClusterHasTheBitsOfReplicas) {
  Job local;
  expect_the_bits_of_replicas(spec_of_sequences, local);
  EXPECT_GT(local.log.count('I', "program for batch 5, time "), 1);  // The lengths of sentences did differ.
}

TEST(SequencesJob, AnAsynchronousClusterLearns) { expect_all_learned(spec_of_sequences(300)); }

}  // namespace
}  // namespace shoal::testing
