// SPDX-License-Identifier: Apache-2.0
#include "train/step_verdict.h"

#include <string>

#include "shoal/base/finite.h"

namespace shoal {
namespace {

bool is_finite_loss(float loss) { return is_finite(loss); }
bool is_a_number(float loss) { return !is_nan(loss); }

std::string kind_of_value(double value) { return is_nan(value) ? "NaN" : "infinite, which counts as NaN"; }

std::string what_follows(uint64_t global_step) {
  return " at global step " + std::to_string(global_step) + ", and the step made no update";
}

}  // namespace

std::optional<Error> find_fault(const ComputedStep& step) {
  if (!loss_check(step.lenient)(float(step.loss))) {
    return nan_loss("the loss is " + kind_of_value(step.loss) + what_follows(step.global_step) +
                    "; a lower learning rate, or a look at the input, may help");
  }
  if (step.lenient) return std::nullopt;
  size_t next = 0;
  for (const nn::StepScalar& scalar : step.train_op->scalars) {
    if (!scalar.value.valid()) continue;
    const float value = step.scalar_values[next++];
    if (scalar.norm_of.empty() || is_finite(value)) continue;
    return nan_loss("the norm of " + scalar.norm_of + ", which is to be clipped, is " + kind_of_value(double(value)) +
                    what_follows(step.global_step) + " (its loss is " + std::to_string(step.loss) +
                    "); look for operations whose gradient is not finite, such as the square root of 0");
  }
  return std::nullopt;
}

bool (*loss_check(bool lenient))(float) { return lenient ? is_a_number : is_finite_loss; }

}  // namespace shoal
