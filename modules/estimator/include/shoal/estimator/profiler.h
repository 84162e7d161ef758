// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A hook that finds out where the time of training steps goes.
#include <memory>
#include <optional>
#include <string>

#include "shoal/backends/machine_limits.h"
#include "shoal/estimator/hook.h"

namespace shoal {

struct ProfilerOptions {
  /// Steps of this task's run that are left alone first, at least 0: the first ones are not like the others.
  int64_t skip = 10;
  int64_t steps = 50;                 ///< Steps that are measured then, at least 1.
  std::string file = "profile.json";  ///< The name of the file in model_dir.
  /// What kernels are compared with; none: RunContext::machine_limits(), when the steps are done.
  std::optional<backends::MachineLimits> limits = {};
};

/// Measures steps kernel by kernel, then logs a table (info, one line each) and writes the same as JSON (see
/// backends/profile.h). A run that ends early gives a profile of what there was. Raises InvalidArgument for a number out of
/// range. Only steps of one program count: those of another batch size, or that fetch where the first did not, are left
/// out.
std::shared_ptr<Hook> profiler(ProfilerOptions options = {});

}  // namespace shoal
