// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The two models of the example, as model functions. Parameters: `characters`, all that there are: the id of one is its
/// place; `learning_rate`; `steps`, over which it goes down to a tenth.
#include "shoal/estimator/model_fn.h"

namespace text {

/// Characters that a model sees at a time.
inline constexpr int64_t kContext = 64;

/// models::char_lstm: embeddings of 64, an LSTM of 256 units.
shoal::EstimatorSpec lstm(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                          const shoal::Params& params, const shoal::RunConfig& config);

/// models::gpt: 4 transformer blocks of 128 features and 4 heads.
shoal::EstimatorSpec gpt(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                         const shoal::Params& params, const shoal::RunConfig& config);

}  // namespace text
