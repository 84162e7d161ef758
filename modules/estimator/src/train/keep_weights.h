// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The weights of a training that writes no checkpoints, taken from the store at its end.
#include <memory>
#include <string>

#include "model/trained_weights.h"
#include "shoal/cluster/store.h"

namespace shoal {

/// Copies all variables of `store` into memory of this process, whether they lie in it or on servers. `weights` has what is
/// known of them already. Errors: those of the store.
Task<Result<std::shared_ptr<const TrainedWeights>>> keep_weights(Environment& env, cluster::Store& store,
                                                                 TrainedWeights weights);

}  // namespace shoal
