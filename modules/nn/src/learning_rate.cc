// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/learning_rate.h"

#include <cmath>

#include "shoal/base/error.h"

namespace shoal::nn {

LearningRate::LearningRate(double constant) : at_([constant](uint64_t) { return constant; }) {
  if (!(constant >= 0 && std::isfinite(constant))) {
    raise(invalid_argument("learning rate is " + std::to_string(constant) + ", expected a finite number >= 0"));
  }
}

LearningRate::LearningRate(Schedule schedule) : at_(std::move(schedule.at)) {
  if (!at_) raise(invalid_argument("learning rate: the schedule is an empty function"));
}

}  // namespace shoal::nn
