// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Decides whether the result of a step may become an update. A NaN or infinite value must not get into the weights, since
/// no checkpoint may contain one.
#include <optional>
#include <span>

#include "shoal/base/error.h"
#include "shoal/nn/train_op.h"

namespace shoal {

/// The results of one step, which find_fault() checks. `lenient`: the value of RunConfig::allow_non_finite.
struct ComputedStep {
  double loss = 0;
  const nn::TrainOp* train_op = nullptr;
  std::span<const float> scalar_values;  ///< The values of nn::scalar_values(), in their order.
  uint64_t global_step = 0;              ///< The global step that the update would reach.
  bool lenient = false;
};

/// Returns NanLoss if the step must not become an update, because the loss, or a norm by which gradients are clipped, is
/// NaN or infinite. With `lenient`, only a loss of NaN is an error.
std::optional<Error> find_fault(const ComputedStep& step);

/// Returns the function by which find_fault() checks the loss, for use as backends::StepBinding::may_apply: it returns true
/// if the step of this loss may become an update. `lenient` is that of ComputedStep.
bool (*loss_check(bool lenient))(float loss);

}  // namespace shoal
