// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/poison.h"

#include <string>

namespace shoal::cluster {

Error poisoned(std::string_view variable, uint64_t global_step) {
  return nan_loss(
      "variable " + std::string(variable) + ", or a slot of its optimizer, became infinite or NaN at global step " +
      std::to_string(global_step) +
      ": nothing of that step or a later one is saved, and the same command goes on from the checkpoint before; a "
      "lower learning rate, clipping, or a look at the input, may help (allow_non_finite lets such values pass)");
}

}  // namespace shoal::cluster
