// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Weights that a training without checkpoints has left in memory, for Estimator::export_model().
#include <cstdint>
#include <map>
#include <string>

#include "shoal/base/tensor.h"

namespace shoal {

struct TrainedWeights {
  int64_t global_step = 0;
  std::string meaning = {};                                ///< Meaning::encode() of the model that was trained.
  std::string rest = {};                                   ///< encode_rest() of it.
  std::string run = {};                                    ///< What the run is (checkpoint::encode_run()).
  std::map<std::string, Tensor, std::less<>> values = {};  ///< By variable.
};

}  // namespace shoal
