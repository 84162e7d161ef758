// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Whether what a step has computed may become an update (CONTRACT CK-17, HK-6).
#include <optional>
#include <span>

#include "shoal/base/error.h"
#include "shoal/nn/train_op.h"

namespace shoal {

/// What is looked at before a step counts. `lenient`: RunConfig::allow_non_finite.
struct ComputedStep {
  double loss = 0;
  const nn::TrainOp* train_op = nullptr;
  std::span<const float> scalar_values;  ///< Those of nn::scalar_values(), in their order.
  uint64_t global_step = 0;              ///< That which the update would make.
  bool lenient = false;
};

/// NanLoss where the loss, or a norm that clipping takes, is NaN or infinite: no update may be made of the step. With `lenient`
/// only a loss that is NaN is one.
std::optional<Error> find_fault(const ComputedStep& step);

/// The same of the loss alone, for backends::StepBinding::may_apply.
bool (*loss_check(bool lenient))(float loss);

}  // namespace shoal
