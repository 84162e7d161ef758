// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The purpose for which a model is built.
#include <cstdint>
#include <string_view>

namespace shoal::nn {

enum class Mode : uint8_t {
  kTrain = 1,    ///< The model gets labels, and has to provide loss and train_op.
  kEval = 2,     ///< The model gets labels, and has to provide loss and metrics.
  kPredict = 3,  ///< The model gets no labels, and has to provide predictions.
};

std::string_view to_string(Mode mode);  ///< Returns "train", "eval" or "predict".

}  // namespace shoal::nn
