// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Weights in memory that a training run without checkpoints has left for Estimator::export_model().
#include <cstdint>
#include <map>
#include <string>

#include "shoal/base/tensor.h"

namespace shoal {

struct TrainedWeights {
  int64_t global_step = 0;
  std::string meaning = {};                                ///< What the model's numbers stand for (Meaning::encode()).
  std::string rules = {};                                  ///< Constants, update rules, op versions (encode_rules()).
  std::string run = {};                                    ///< The description of the run (checkpoint::encode_run()).
  std::map<std::string, Tensor, std::less<>> values = {};  ///< Tensors by variable.
};

}  // namespace shoal
