// SPDX-License-Identifier: Apache-2.0
#include "language.h"

#include "shoal/nn/dense.h"
#include "shoal/nn/embedding.h"
#include "shoal/nn/normalization.h"
#include "shoal/nn/recurrent.h"
#include "shoal/nn/transformer.h"

namespace models {

namespace nn = shoal::nn;

shoal::Value char_lstm(shoal::Value ids, const CharLstmOptions& options) {
  shoal::Value x = nn::embedding(ids, {.ids = options.characters, .dimension = options.embedding});
  x = nn::lstm(x, {.units = options.units}).sequence;
  return nn::dense(x, {.units = options.characters, .name = "logits"});
}

shoal::Value gpt(shoal::Value ids, nn::Mode mode, const GptOptions& options) {
  const nn::InitializerSpec initializer = nn::normal(0, 0.02);
  shoal::Value x =
      nn::embedding(ids, {.ids = options.characters, .dimension = options.features, .initializer = initializer});
  x = nn::position_embedding(x, {.positions_max = options.context, .initializer = initializer});
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    x = nn::transformer_block(
        x, mode, {.heads = options.heads, .dropout = options.dropout, .causal = true, .kernel_initializer = initializer});
  }
  return nn::dense(nn::layer_norm(x),
                   {.units = options.characters, .use_bias = false, .kernel_initializer = initializer, .name = "logits"});
}

}  // namespace models
