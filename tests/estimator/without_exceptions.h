// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A program without exceptions: the functions of without_exceptions.cc.
#include <string>
#include <vector>

#include "shoal/estimator/run_config.h"
#include "shoal/estimator/task_report.h"

namespace shoal::testing {

/// Trains y = 2 x + 1 by train_and_evaluate(), looks at the result in every possible way, and exports it to `exports`.
/// Returns a sentence for each mistake; empty if all went well. `report` is that of the training.
std::vector<std::string> train_without_exceptions(const RunConfig& config, const std::string& exports, TaskReport& report);

/// Provokes each error in turn. Returns for each call "Kind: sentence", or "" if it gave no error.
std::vector<std::string> fail_without_exceptions(const RunConfig& config, const std::string& nowhere);

}  // namespace shoal::testing
