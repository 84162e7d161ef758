// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/optimizer_choice.h"

#include "shoal/nn/optimizers.h"

namespace shoal {

OptimizerChoice::OptimizerChoice(const char* name) : OptimizerChoice(value_or_raise(nn::make_optimizer(name))) {}

OptimizerChoice::OptimizerChoice(nn::Optimizer optimizer)
    : make_([optimizer = std::move(optimizer)] { return optimizer; }) {}

nn::Optimizer OptimizerChoice::make_or(nn::Optimizer otherwise) const { return make_ ? make_() : otherwise; }

}  // namespace shoal
