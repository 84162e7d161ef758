// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The purpose for which a model is built.
#include <cstdint>
#include <string_view>

namespace shoal::nn {

enum class Mode : uint8_t {
  kTrain = 1,    ///< There are labels; loss and train_op are needed.
  kEval = 2,     ///< There are labels; loss and metrics are needed.
  kPredict = 3,  ///< There are no labels; predictions are needed.
};

std::string_view to_string(Mode mode);  ///< Returns "train", "eval" or "predict".

}  // namespace shoal::nn
