// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Two models of text that predict each next character from those before it.
#include <cstdint>

#include "shoal/graph/graph.h"
#include "shoal/nn/mode.h"

namespace models {

struct CharLstmOptions {
  int64_t characters = 0;  ///< The number of different characters; ids lie in [0, characters). Must be set.
  int64_t embedding = 64;  ///< The number of features of each character.
  int64_t units = 256;     ///< The number of units of the LSTM.
};
/// Returns logits for the character that follows each character: embedding, LSTM, dense layer.
///
///   ids      [batch, time]              int64, each in [0, characters)
///   returns  [batch, time, characters]  float32
///
/// Source: Karpathy, "The unreasonable effectiveness of recurrent neural networks" (2015).
shoal::Value char_lstm(shoal::Value ids, const CharLstmOptions& options);

struct GptOptions {
  int64_t characters = 0;  ///< The number of different characters, as in CharLstmOptions.
  int64_t layers = 4;
  int64_t features = 128;
  int64_t heads = 4;
  int64_t context = 64;  ///< The greatest length of a sequence.
  double dropout = 0;    ///< The dropout rate while training.
};
/// Returns logits for the character that follows each character: embeddings of characters and positions, causal transformer
/// blocks, a last layer norm, and a dense layer without bias.
///
///   ids      [batch, time]              int64, each in [0, characters); time is at most `context` and not a symbol
///   returns  [batch, time, characters]  float32
///
/// Source: Radford et al., "Language models are unsupervised multitask learners" (GPT-2, 2019), section 2.3.
/// As in that paper, weights are initialized from a normal distribution with a standard deviation of 0.02.
shoal::Value gpt(shoal::Value ids, shoal::nn::Mode mode, const GptOptions& options);

}  // namespace models
