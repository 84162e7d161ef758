// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A blocking wait, for code that cannot use co_await: offloaded work (see Environment::offload) and programs.
#include "shoal/base/environment.h"

namespace shoal {

/// Blocks the calling thread until `when`. Returns Cancelled as soon as `env` is killed. Never call this function on the
/// strand.
Result<void> block_until(Environment& env, SteadyTime when);

}  // namespace shoal
