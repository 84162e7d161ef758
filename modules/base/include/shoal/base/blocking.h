// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Waiting where nothing can be awaited: in blocking work (see Environment::offload) and in programs.
#include "shoal/base/environment.h"

namespace shoal {

/// Holds up the calling thread until `when`, or for as long as `env` lives: Cancelled if it is killed meanwhile. Not on the
/// strand.
Result<void> block_until(Environment& env, SteadyTime when);

}  // namespace shoal
