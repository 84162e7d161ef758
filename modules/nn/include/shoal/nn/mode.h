// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a model is built for.
#include <cstdint>
#include <string_view>

namespace shoal::nn {

enum class Mode : uint8_t {
  kTrain = 1,    ///< Labels are there; loss and train_op are needed.
  kEval = 2,     ///< Labels are there; loss and metrics are needed.
  kPredict = 3,  ///< No labels are there; predictions are needed.
};

std::string_view to_string(Mode mode);  ///< "train", "eval" or "predict".

}  // namespace shoal::nn
