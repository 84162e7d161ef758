// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/mode.h"

namespace shoal::nn {

std::string_view to_string(Mode mode) {
  switch (mode) {
    case Mode::kTrain: return "train";
    case Mode::kEval: return "eval";
    case Mode::kPredict: return "predict";
  }
  return "unknown";
}

}  // namespace shoal::nn
