// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The base seed of initial weights, dropout and shuffles. A run without a configured seed draws one and keeps it in
/// run.json, so that a restart computes the same bits as an unbroken run.
#include <cstdint>
#include <optional>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/base/random.h"
#include "shoal/estimator/run_config.h"

namespace shoal {

/// Returns the seed in the config or, if it has none, the seed of the run in `model_dir`. Returns nothing if there is no
/// run yet or if run.json cannot be read, which is logged as a warning: then each call draws its own seed.
std::optional<int64_t> seed_of_run(Environment& env, const RunConfig& config, const std::string& model_dir);

/// Turns `seed` into the seed of a graph; draws one if it is None.
RandomKey graph_seed(Environment& env, const std::optional<int64_t>& seed);

}  // namespace shoal
