// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The base seed of initial weights, dropout and shuffles (CONTRACT RU-7).
#include <cstdint>
#include <optional>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/base/random.h"
#include "shoal/estimator/run_config.h"

namespace shoal {

/// The seed that the config gives, or else that of the run in `model_dir`. Nothing where there is no run yet, or, with a
/// warning, where run.json cannot be read: then everybody draws an own one.
std::optional<int64_t> seed_of_run(Environment& env, const RunConfig& config, const std::string& model_dir);

/// `seed` as the seed of a graph; drawn where there is none.
RandomKey graph_seed(Environment& env, const std::optional<int64_t>& seed);

}  // namespace shoal
