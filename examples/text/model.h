// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The two models of the example, as model functions. Parameters: `characters`, a text of all characters, in which the id
/// of each is its position; `learning_rate`; `steps`, the number of steps over which the rate falls to a tenth.
#include "shoal/estimator/model_fn.h"

namespace text {

/// The number of characters in each training example.
inline constexpr int64_t kContext = 64;

/// models::char_lstm: embeddings of 64, an LSTM of 256 units.
shoal::EstimatorSpec lstm(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                          const shoal::Params& params, const shoal::RunConfig& config);

/// models::gpt: 4 transformer blocks of 128 features and 4 heads.
shoal::EstimatorSpec gpt(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                         const shoal::Params& params, const shoal::RunConfig& config);

}  // namespace text
