// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A program that is built without exceptions; the functions of without_exceptions.cc.
#include <string>
#include <vector>

#include "shoal/estimator/run_config.h"
#include "shoal/estimator/task_report.h"

namespace shoal::testing {

/// Trains y = 2 x + 1 by train_and_evaluate(), looks at the result in every way there is, and exports it to `exports`. What
/// goes wrong, one sentence each; empty if all went well. `report` is that of the training.
std::vector<std::string> train_without_exceptions(const RunConfig& config, const std::string& exports, TaskReport& report);

/// Each way to fail, in order: what the call gave, as "Kind: sentence", or "" where it gave none.
std::vector<std::string> fail_without_exceptions(const RunConfig& config, const std::string& nowhere);

}  // namespace shoal::testing
