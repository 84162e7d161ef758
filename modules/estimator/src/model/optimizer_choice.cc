// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/optimizer_choice.h"

#include "shoal/nn/optimizers.h"

namespace shoal {

OptimizerChoice::OptimizerChoice(const char* name) : choice_(value_or_raise(nn::make_optimizer(name))) {}

nn::Optimizer OptimizerChoice::make_or(nn::Optimizer otherwise) const {
  if (const auto* optimizer = std::get_if<nn::Optimizer>(&choice_)) return *optimizer;
  const auto* make = std::get_if<std::function<nn::Optimizer()>>(&choice_);
  return make != nullptr && *make ? (*make)() : otherwise;
}

}  // namespace shoal
