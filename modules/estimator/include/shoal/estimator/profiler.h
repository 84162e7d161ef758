// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A hook that measures where the time of training steps goes.
#include <memory>
#include <optional>
#include <string>

#include "shoal/backends/machine_limits.h"
#include "shoal/estimator/hook.h"

namespace shoal {

struct ProfilerOptions {
  /// How many steps of this task's run are skipped at first, at least 0. The first steps take longer than the others.
  int64_t skip = 10;
  int64_t steps = 50;                 ///< How many steps are measured after the skipped ones, at least 1.
  std::string file = "profile.json";  ///< The name of the file in model_dir.
  /// The speeds of the machine, with which the profile compares the kernels. Unset: RunContext::machine_limits(), called
  /// after the steps.
  std::optional<backends::MachineLimits> limits = {};
};

/// Measures steps kernel by kernel, then logs a table (info, one line each) and writes the same as JSON (see
/// backends/profile.h). A run that ends early gives a profile of the steps that it made. Steps that run another compiled
/// program than the first measured step are left out: those of another batch size, and those that fetch values if the first
/// step did not. Raises InvalidArgument for a number out of range.
std::shared_ptr<Hook> profiler(ProfilerOptions options = {});

}  // namespace shoal
